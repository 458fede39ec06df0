//! How long packets wait: until a link begins to send them, and no longer.

use crate::common::run;
use crate::common::scenario::{mistake, planned};
use anabranch_sim::Outcome;

/// From a over b to c at 8 Mbit/s and 5 ms each, so 1,000 bytes take 1 ms to send.
fn outcome(keys: &str, links: &str, rest: &str) -> Outcome {
    let rest = if rest.is_empty() { "transport.jitter = 0" } else { rest };
    let link = |source: &str, target: &str| {
        format!(
            "[[link]]\nsource = \"{source}\"\ntarget = \"{target}\"\ncapacity = \"8 Mbit/s\"\ndelay = \"5 ms\"\n{links}\n"
        )
    };
    let text = link("a", "b")
        + &link("b", "c")
        + &format!("[[connection]]\nsource = \"a\"\ntarget = \"c\"\npacket = \"1000 B\"\n{keys}\n")
        + &format!("[run]\nduration = \"5 s\"\nrecord = [\"waits\"]\n{rest}");
    let outcome = run(&planned(&text).unwrap());
    assert_eq!(mistake(&outcome), None, "{text}");
    outcome
}

/// The least and the most that packets waited at each link, and on the whole way, in milliseconds to a tenth.
fn waits(outcome: &Outcome) -> Vec<(f64, f64)> {
    // A histogram has three digits.
    let ms = |seconds: f64| (seconds * 1e4).round() / 10.0;
    outcome.link_waits.iter().chain(&outcome.subflow_waits).map(|wait| (ms(wait.least), ms(wait.most))).collect()
}

#[test]
fn a_packet_does_not_wait_while_it_is_sent() {
    // Four packets come at once: they wait for 0 to 3 others at the first link, and for none at the second. So it is with
    // a queue discipline.
    for links in ["", "discipline = \"codel\""] {
        let outcome = outcome("protocol = \"reno\"\namount = \"4 kB\"", links, "");
        let [first, second, all] = waits(&outcome)[..] else { panic!("two links and one subflow") };
        assert_eq!((first, second), ((0.0, 3.0), (0.0, 0.0)), "{links}");
        assert_eq!(all, (0.0, 3.0), "{links}");
    }
}

#[test]
fn what_was_sent_at_a_rate_or_with_a_header_does_not_wait_either() {
    // A millionth of a second is a tenth of what it would take to send a hundred bits.
    for keys in [
        "protocol = \"d-slen\"\namount = \"100 kB\"",
        "protocol = \"d-slen\"\ndemand = \"4 Mbit/s\"",
        "protocol = \"xcp\"\namount = \"1 kB\"",
    ] {
        let outcome = outcome(keys, "", "");
        let waits = waits(&outcome);
        assert!(
            waits.len() == 3 && waits.iter().all(|&(least, most)| (0.0..=0.01).contains(&least) && most <= 0.01),
            "{keys}: {waits:?}"
        );
    }
}

#[test]
fn a_packet_waits_while_its_link_carries_nothing() {
    // It comes at 0 and is sent from 20 ms on; at the second link it waits from 26 ms to 40.
    let links = "capacity_changes = [{ at = \"1 ns\", capacity = \"0 bit/s\" }, { at = \"20 ms\", capacity = \"8 Mbit/s\" }, \
                 { at = \"25.5 ms\", capacity = \"0 bit/s\" }, { at = \"40 ms\", capacity = \"8 Mbit/s\" }]";
    let outcome = outcome("protocol = \"reno\"\namount = \"1 kB\"\nstart = \"1 ms\"", links, "");
    assert_eq!(waits(&outcome), [(19.0, 19.0), (14.0, 14.0), (33.0, 33.0)]);
}

#[test]
fn a_packet_waits_for_its_opportunity() {
    // It may be sent at 10, 20, ... ms: from the first link at 10, and so it is at the second at 15, which sends at 20.
    let links = "trace = { opportunities_ms = [10] }";
    let outcome = outcome("protocol = \"reno\"\namount = \"1 kB\"", links, "");
    assert_eq!(waits(&outcome), [(10.0, 10.0), (5.0, 5.0), (15.0, 15.0)]);
}

#[test]
fn what_a_host_is_slow_to_send_does_not_wait() {
    // Each packet leaves up to 1 ms late, and before each the link is free again.
    let keys = "protocol = \"reno\"\namount = \"50 kB\"\ndemand = \"1 Mbit/s\"";
    let outcome = outcome(keys, "", "transport.jitter = 1");
    assert!(waits(&outcome).iter().all(|&(_, most)| most <= 0.0), "{:?}", waits(&outcome));
}

#[test]
fn waits_of_a_chain_are_those_of_all_its_queues() {
    // The relay takes no time: of four packets the last waits for 3 others before the first link, and then for none.
    let outcome = outcome("protocol = \"reno\"\namount = \"4 kB\"\nrelays = [\"b\"]", "", "");
    let [first, second, before, all] = waits(&outcome)[..] else { panic!("two links and two loops") };
    assert_eq!((first, second, before), ((0.0, 3.0), (0.0, 0.0), (0.0, 3.0)));
    assert_eq!(all, (0.0, 3.0));
}
