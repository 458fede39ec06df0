//! Parts of links that protocols hand out: what their headroom leaves, and their shares of links.

use anabranch_core::{Rate, Time};
use anabranch_plan::Plan;
use anabranch_sim::Outcome;

use crate::common::{MEGA, assert_close, last_rates, run, scenario::planned};

/// The protocols that have a headroom.
const EXACT: [&str; 9] = ["b-neck", "bfyz", "charny", "cobb-like", "d-slen", "perc", "s-perc", "slbn", "vo-le-tran"];

/// Two connections over one link of 10 Mbit/s and 5 ms.
fn one_link(protocol: &str, run: &str, connection: &str) -> Plan {
    let link = "[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\n";
    let own = format!("[[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = {protocol}\n");
    planned(&format!("[run]\n{run}\n{link}{own}{connection}\n{own}")).unwrap()
}

fn longest_queue(outcome: &Outcome) -> u32 {
    outcome.links.iter().map(|link| link.totals.most_packets).max().unwrap()
}

#[test]
fn what_is_held_back_is_granted_to_nobody() {
    // A tenth of 10 Mbit/s stays free, and each of two connections has half of 9. Fair rates are those of the whole link.
    for name in EXACT {
        let plan = one_link(&format!("{{ {name} = {{ headroom = 0.1 }} }}"), "duration = \"20 s\"", "");
        let outcome = run(&plan);
        assert_close(&last_rates(&plan, &outcome), &[4.5; 2], 0.01);
        assert_close(&outcome.samples.connection_fair_bps[..2], &[5.0 * MEGA; 2], 1.0);
    }
}

#[test]
fn demands_are_not_reduced() {
    // Half of the link is held back; the first connection wants 2 Mbit/s of the other half.
    for name in EXACT {
        let protocol = format!("{{ {name} = {{ headroom = 0.5 }} }}");
        let plan = one_link(&protocol, "duration = \"20 s\"", "demand = \"2 Mbit/s\"");
        assert_close(&last_rates(&plan, &run(&plan)), &[2.0, 3.0], 0.01);
    }
}

#[test]
fn control_packets_in_band_find_room_in_it() {
    // Two probes of 64 bytes a round trip of 10 ms are 0.1 Mbit/s, a hundredth of the link.
    for name in ["d-slen", "slbn"] {
        let queue = |headroom: f64, seconds: u32| {
            let settings = format!("duration = \"{seconds} s\"\ncontrol = \"in-band\"");
            longest_queue(&run(&one_link(&format!("{{ {name} = {{ headroom = {headroom} }} }}"), &settings, "")))
        };
        let (short, long) = (queue(0.0, 10), queue(0.0, 20));
        assert!(long > short + 10, "{name}: {short} packets after 10 s, {long} after 20 s");
        assert_eq!(queue(0.03, 10), queue(0.03, 20), "{name}");
        assert!(queue(0.03, 20) < 12, "{name}: {}", queue(0.03, 20));
    }
}

#[test]
fn a_headroom_follows_a_capacity_that_changes() {
    let mut plan = one_link("{ slbn = { headroom = 0.2 } }", "duration = \"10 s\"", "");
    plan.links[0].changes = vec![(Time::from_seconds(5.0).unwrap(), Rate(5.0 * MEGA))];
    // 80 % of 5 Mbit/s, in two.
    assert_close(&last_rates(&plan, &run(&plan)), &[2.0; 2], 1e-3);
}

#[test]
fn a_headroom_is_at_most_a_half() {
    for part in ["0.51", "-0.01", "nan"] {
        let text = format!("[defaults.connection]\nprotocol = {{ d-slen = {{ headroom = {part} }} }}\n");
        assert!(planned(&text).unwrap_err().contains("it must be 0 to 0.5"), "{part}");
    }
}

/// Connections under SLBN, BFYZ and Reno over one link of 10 Mbit/s with these further keys.
fn three_protocols(link: &str) -> Plan {
    let own = ["slbn", "bfyz", "reno"]
        .map(|name| format!("[[connection]]\nsource = \"a\"\ntarget = \"b\"\nprotocol = \"{name}\"\n"))
        .concat();
    let link = format!(
        "[[link]]\nsource = \"a\"\ntarget = \"b\"\ncapacity = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 packets\"\n{link}\n"
    );
    planned(&format!("[run]\nduration = \"20 s\"\nwarm_up = \"5 s\"\n{link}{own}")).unwrap()
}

#[test]
fn protocols_grant_their_shares_of_a_link_and_a_window_has_the_rest() {
    let plan = three_protocols("shares = { slbn = 0.5, bfyz = 0.3 }");
    assert_eq!(plan.warnings(), Vec::<String>::new());
    let outcome = run(&plan);
    assert_close(&last_rates(&plan, &outcome)[..2], &[5.0, 3.0], 1e-6);
    // Reno fills what is left of the link, and loses packets at its limit as it always does.
    let delivered = |s: usize| outcome.subflows[s].delivered_warm as f64 * 8.0 / 15.0 / MEGA;
    assert!(delivered(2) > 1.6 && delivered(2) < 2.2, "{} Mbit/s", delivered(2));
    assert!(delivered(0) > 4.7 && delivered(1) > 2.8, "{} and {} Mbit/s", delivered(0), delivered(1));
}

#[test]
fn shares_follow_a_capacity_that_changes() {
    let plan = three_protocols(
        "shares = { slbn = 0.5, bfyz = 0.3 }\ncapacity_changes = [{ at = \"10 s\", capacity = \"4 Mbit/s\" }]",
    );
    assert_close(&last_rates(&plan, &run(&plan))[..2], &[2.0, 1.2], 1e-6);
}

#[test]
fn a_protocol_without_a_share_hands_out_all_and_headroom_is_of_the_share() {
    let plan = three_protocols("shares = { slbn = 0.5 }");
    assert_close(&last_rates(&plan, &run(&plan))[..2], &[5.0, 10.0], 1e-6);
    // 90 % of a half.
    let text = "{ slbn = { headroom = 0.1 } }";
    let mut plan = one_link(text, "duration = \"5 s\"", "");
    plan.links[0].shares = vec![("slbn", 0.5)];
    assert_close(&last_rates(&plan, &run(&plan)), &[2.25; 2], 1e-6);
}
