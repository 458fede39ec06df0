//! Tests of what a reader of a run's numbers is told.

use crate::{PAIR, plan};

/// Links L and M in a row with connections over one or both, each with these keys.
fn two_links(head: &str, connections: &[(&str, &str, &str)]) -> Vec<String> {
    let links = [("L", "a", "b"), ("M", "b", "c")]
        .map(|(name, from, to)| {
            format!(
                "[[link]]\nname = \"{name}\"\nsource = \"{from}\"\ntarget = \"{to}\"\ncapacity = \"10 Mbit/s\"\n\
                 delay = \"5 ms\"\nqueue = \"1 BDP\"\ncontrol_faults = {{ loss = 0.01 }}\n"
            )
        })
        .concat();
    let connections: String = connections
        .iter()
        .map(|(from, to, keys)| format!("[[connection]]\nsource = \"{from}\"\ntarget = \"{to}\"\npaths = 1\n{keys}\n"))
        .collect::<Vec<_>>()
        .concat();
    plan(&format!("{head}\n{links}{connections}")).unwrap().warnings()
}

#[test]
fn links_where_protocols_that_grant_rates_meet_others_are_named() {
    let said = two_links(
        "",
        &[("a", "c", "protocol = \"slbn\""), ("a", "b", "protocol = \"bfyz\""), ("a", "b", "protocol = \"reno\"")],
    );
    let [said] = &said[..] else { panic!("{said:?}") };
    assert!(
        said.ends_with("so more may be granted than these links carry: `L` (SLBN, BFYZ (reconstruction), Reno)"),
        "{said}"
    );
}

#[test]
fn shares_of_a_link_that_fit_keep_protocols_apart() {
    let said = |shares: &str, protocols: &[&str]| {
        let own: Vec<String> = protocols.iter().map(|name| format!("protocol = \"{name}\"")).collect();
        let connections: Vec<(&str, &str, &str)> = own.iter().map(|keys| ("a", "b", &keys[..])).collect();
        two_links(&format!("[defaults.link]\nshares = {{ {shares} }}"), &connections).len()
    };
    let (exact, all) = (&["slbn", "bfyz"][..], &["slbn", "bfyz", "reno"][..]);
    assert_eq!([said("slbn = 0.5, bfyz = 0.3", exact), said("slbn = 0.5, bfyz = 0.3", all)], [0, 0]);
    // All of the link is granted: nothing is left for a window.
    assert_eq!([said("slbn = 0.6, bfyz = 0.4", exact), said("slbn = 0.6, bfyz = 0.4", all)], [0, 1]);
    // Too much, and one protocol that hands out all.
    assert_eq!([said("slbn = 0.6, bfyz = 0.5", exact), said("slbn = 0.1", exact)], [1, 1]);
}

#[test]
fn what_does_not_meet_is_no_matter() {
    // On different links, on the same link at different times, and windows alone.
    let apart: [&[(&str, &str, &str)]; 3] = [
        &[("a", "b", "protocol = \"slbn\""), ("b", "c", "protocol = \"bfyz\"")],
        &[("a", "b", "protocol = \"slbn\"\nstop = \"1 s\""), ("a", "b", "protocol = \"bfyz\"\nstart = \"1 s\"")],
        &[("a", "b", "protocol = \"reno\""), ("a", "b", "protocol = \"cubic\"")],
    ];
    for connections in apart {
        assert!(two_links("", connections).is_empty(), "{connections:?}");
    }
}

#[test]
fn losses_of_control_packets_without_repair_are_told_where_they_matter() {
    let unrepaired = "[run]\nrepair = false";
    let said = two_links(unrepaired, &[("a", "b", "protocol = \"slbn\"")]);
    assert!(said.len() == 1 && said[0].contains("may stay wrong for ever"), "{said:?}");
    assert!(two_links("", &[("a", "b", "protocol = \"slbn\"")]).is_empty());
    assert!(two_links(unrepaired, &[("a", "b", "protocol = \"reno\"")]).is_empty());
}

#[test]
fn paths_that_are_asked_for_and_not_found_are_told() {
    // From a to b there is one path, over the link l.
    let said = |keys: &str| plan(&format!("{PAIR}{keys}")).unwrap().warnings();
    assert_eq!(said("paths = 2"), ["connection `a>b` asks for 2 paths, and 1 path was found: the network has no more"]);
    let common = "[defaults.connection]\nprotocol = \"d-slen\"\npaths = 3\n";
    assert_eq!(
        said(&format!("[[connection]]\nsource = \"a\"\ntarget = \"b\"\n{common}")),
        ["2 connections ask for more paths than the network has, such as `a>b`, which asks for 3: 1 path was found"]
    );
    let traffic = "paths = 1\n[[traffic]]\ncount = 1\npaths = 2\n";
    assert_eq!(said(traffic).len(), 1);
    assert!(said(traffic)[0].starts_with("connection `t1` asks for 2 paths"), "{:?}", said(traffic));
}

#[test]
fn paths_that_nobody_asked_for_are_not_missed() {
    // One number that is met, the usual number of d-SLEN (which resolved files have, too), a drawn number, and a path by
    // its nodes.
    for keys in ["paths = 1", "", "paths = 4", "paths = { least = 1, most = 4 }", "paths = [[\"a\", \"b\"]]"] {
        assert!(plan(&format!("{PAIR}{keys}")).unwrap().warnings().is_empty(), "{keys}");
    }
}
