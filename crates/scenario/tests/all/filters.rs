//! `[filters]`: what identities are drawn by, a filter for each path and way back, and what is refused.

use anabranch_plan::{Filters, Plan, way_back};
use anabranch_psi::{Filter, Ones, filter_of};

use crate::{PAIR, plan, refused};

fn filters(text: &str) -> Filters {
    plan(text).unwrap().filters.expect("the file has [filters]")
}

#[test]
fn without_the_table_there_are_no_filters() {
    assert!(plan(PAIR).unwrap().filters.is_none());
}

#[test]
fn identities_are_drawn_by_the_seed_of_the_run_unless_by_their_own() {
    let parameters = |keys: &str| *filters(&format!("{PAIR}{keys}")).identities.parameters();
    let usual = parameters("[filters]\n");
    assert_eq!((usual.bits, usual.ones, usual.tables, usual.seed), (256, Ones::Each(5), 8, 1));
    assert_eq!(parameters("[filters]\n[run]\nseed = 7\n").seed, 7);
    let own = parameters(
        "[filters]\nbits = 64\nones = \"growing\"\ntables = 2\nmost_fill = 0.5\nseed = 3\n[run]\nseed = 7\n",
    );
    assert_eq!((own.bits, own.ones, own.tables, own.seed), (64, Ones::Growing, 2, 3));
    assert!((own.most_fill - 0.5).abs() < 1e-12);
}

#[test]
fn each_path_has_a_filter_and_its_way_back_if_packets_go_by_it() {
    let of = |protocol: &str| plan(&format!("{PAIR}protocol = \"{protocol}\"\npaths = 1\n[filters]\n")).unwrap();
    let best = |plan: &Plan, path: &[_]| -> Filter {
        filter_of(&plan.network, &plan.filters.as_ref().unwrap().identities, path).unwrap()
    };
    let rates = of("slbn");
    let own = rates.filters.as_ref().unwrap();
    assert_eq!((&own.there[..], &own.back[..]), (&[best(&rates, rates.paths.path(0))][..], &[None][..]));
    let windows = of("reno");
    let back = way_back(&windows.network, windows.paths.path(0));
    assert_eq!(windows.filters.as_ref().unwrap().back, [Some(best(&windows, &back))]);
}

#[test]
fn filters_that_cannot_be_are_refused_where_they_stand() {
    for (keys, place, reason) in [
        ("bits = 7", "line 10, column 1", "they have 7 bits; it must be 8 to 256"),
        ("ones = 257", "line 10, column 1", "257 of their bits are one; it must be 1 to 256"),
        ("ones = 0", "line 11, column 8", "ones is 0; it must be 1 or more"),
        ("ones = \"groing\"", "line 11, column 8", "ones is `groing`; give a number, or \"growing\""),
        ("ones = 1.5", "line 11, column 8", "how many bits are one, or \"growing\""),
        ("tables = 0", "line 10, column 1", "there are 0 tables; it must be 1 to 255"),
        ("most_fill = 0", "line 10, column 1", "up to a fill of 0; it must be over 0 and at most 1"),
        ("most_fill = nan", "line 10, column 1", "up to a fill of NaN"),
        ("seed = -1", "line 11, column 8", "it must be 0 to 9223372036854775807"),
        ("bit = 8", "line 11, column 1", "did you mean `bits`?"),
    ] {
        let said = refused(&format!("{PAIR}[filters]\n{keys}\n"));
        assert!(said.starts_with(place) && said.contains(reason), "{keys}: {said}");
    }
}

#[test]
fn a_path_whose_filter_no_node_forwards_is_named() {
    // Two bits of 8 are a fill of 0.25.
    let said = |keys: &str, protocol: &str| {
        refused(&format!("{PAIR}protocol = \"{protocol}\"\n[filters]\nbits = 8\nones = 2\n{keys}\n"))
    };
    let there = said("most_fill = 0.2", "reno");
    assert!(there.starts_with("line 7, column 1: connection `a>b`, path 1: a filter with a fill of 0.25"), "{there}");
    assert!(refused(&format!("{PAIR}[filters]\nbits = 8\nones = 8\nmost_fill = 1\n")).contains("nothing but ones"));
}

#[test]
fn a_protocol_whose_data_have_headers_goes_by_no_filters() {
    for (protocol, title) in [("xcp", "XCP"), ("rcp", "RCP")] {
        let said = refused(&format!("{PAIR}protocol = \"{protocol}\"\n[filters]\n"));
        let reason = format!("line 7, column 1: connection `a>b`: data packets of {title} carry headers for links");
        assert!(said.starts_with(&reason), "{said}");
    }
}
