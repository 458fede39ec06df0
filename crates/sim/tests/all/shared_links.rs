//! NMCC over paths that share links: what it gets of them together, and beside others.

use crate::common::scenario::{mistake, planned};
use crate::common::{MEGA, run};

/// What each subflow delivers after 10 s, in Mbit/s, for so many seconds; `links` are ends, Mbit/s and further keys.
fn rates(links: &[(&str, &str, f64, &str)], rest: &str, seconds: f64) -> Vec<f64> {
    let link = |(source, target, mbps, keys): &(&str, &str, f64, &str)| {
        format!(
            "[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"{mbps} Mbit/s\"\ndelay = \"5 ms\"\n\
             queue = \"60 packets\"\n{keys}\n"
        )
    };
    let run_table = format!("[run]\nduration = \"{} s\"\nwarm_up = \"10 s\"\n", 10.0 + seconds);
    let text = links.iter().map(link).collect::<String>() + rest + &run_table;
    let outcome = run(&planned(&text).unwrap());
    assert_eq!(mistake(&outcome), None, "{text}");
    outcome.subflows.iter().map(|s| s.delivered_warm as f64 * 8.0 / seconds / MEGA).collect()
}

/// A connection of Reno over a path.
fn reno(name: &str, path: &[&str]) -> String {
    let ends = [path[0], path[path.len() - 1]];
    format!(
        "[[connection]]\nname = \"{name}\"\nsource = \"{}\"\ntarget = \"{}\"\nprotocol = \"reno\"\npaths = [{path:?}]\n",
        ends[0], ends[1]
    )
}

#[test]
fn it_fills_all_that_fits_through_the_network() {
    // Of 10 and 10 Mbit/s 15 go through the link to s, and 5 more go there directly: 20 together. A round trip of 20 ms
    // holds 37 packets of 1,000 bytes at 15 Mbit/s, and the queue 60.
    let links = [("p1", "x", 10.0, ""), ("p2", "x", 10.0, ""), ("x", "s", 15.0, ""), ("p3", "s", 5.0, "")];
    let fetch = "[[connection]]\nsources = [\"p1\", \"p2\", \"p3\"]\ntarget = \"s\"\npaths = 1\nprotocol = \"nmcc\"\n";
    let rates = rates(&links, fetch, 60.0);
    assert!((18.0..=20.01).contains(&rates.iter().sum::<f64>()), "{rates:?}");
}

#[test]
fn who_is_told_of_groups_gets_more_of_a_link_that_one_subflow_takes() {
    // Told, m = 1 on the link of p3, so half of it beside one Reno; untold, m = 3.
    let links = [("p1", "x", 100.0, ""), ("p2", "x", 100.0, ""), ("x", "s", 20.0, ""), ("p3", "s", 20.0, "")];
    let share = |protocol: &str| {
        let fetch = format!(
            "[[connection]]\nsources = [\"p1\", \"p2\", \"p3\"]\ntarget = \"s\"\npaths = 1\nprotocol = {protocol}\n"
        );
        let rates = rates(&links, &(fetch + &reno("beside", &["p3", "s"])), 200.0);
        rates[2] / (rates[2] + rates[3])
    };
    let (told, untold) = (share("\"nmcc\""), share("{ nmcc = { assistance = false } }"));
    assert!((0.45..0.55).contains(&told) && untold < told - 0.05, "{told}, {untold}");
}

#[test]
fn a_source_that_is_silent_costs_nothing() {
    // Two sources over one link of 20 Mbit/s, beside one Reno; one never answers. The other grows as if alone, to half;
    // if the silent one counted, m were 2, and it would come to 0.41.
    let links = [("p1", "x", 100.0, ""), ("p2", "x", 100.0, ""), ("x", "s", 20.0, "")];
    let fetch = "[[connection]]\nsources = [\"p1\", { node = \"p2\", stop = \"1 us\" }]\ntarget = \"s\"\npaths = 1\n\
                 protocol = \"nmcc\"\n";
    let rates = rates(&links, &(fetch.to_owned() + &reno("beside", &["p1", "x", "s"])), 200.0);
    let share = rates[0] / (rates[0] + rates[2]);
    assert!((0.46..0.54).contains(&share), "{rates:?}");
}

#[test]
fn groups_part_when_the_path_that_joins_them_closes() {
    // A over x u t, B over x u y t, C over y t: A and C hang together by B alone. At 5 s the link from u to y fails. Then A
    // has its link from u to t beside one Reno with m = 1, and so has C the one from y to t; still one group, m were 2.
    let fails = "capacity_changes = [{ at = \"5 s\", capacity = \"0 bit/s\" }]";
    let links = [
        ("p1", "x", 100.0, ""),
        ("p2", "x", 100.0, ""),
        ("p3", "y", 100.0, ""),
        ("x", "u", 100.0, ""),
        ("u", "t", 10.0, ""),
        ("u", "y", 100.0, fails),
        ("y", "t", 10.0, ""),
    ];
    let share = |rest: &str| {
        let fetch = "[[connection]]\nsources = [\"p1\", \"p2\", \"p3\"]\ntarget = \"t\"\nprotocol = \"nmcc\"\n\
            paths = [[\"p1\", \"x\", \"u\", \"t\"], [\"p2\", \"x\", \"u\", \"y\", \"t\"], [\"p3\", \"y\", \"t\"]]\n";
        let others = reno("beside A", &["p1", "x", "u", "t"]) + &reno("beside C", &["p3", "y", "t"]);
        let rates = rates(&links, &(fetch.to_owned() + &others + rest), 200.0);
        assert!(rates[1] < 0.01, "{rates:?}");
        [rates[0] / (rates[0] + rates[3]), rates[2] / (rates[2] + rates[4])]
    };
    let (told, untold) = (share("[assistance]\nfailures_after = \"10 ms\"\n"), share(""));
    assert!(told.iter().all(|share| (0.46..0.54).contains(share)), "{told:?}");
    assert!(untold.iter().all(|share| *share < 0.45), "{untold:?}");
}
