//! Counts of control packets: how many sources send, and how many enter each link.

use anabranch_plan::ControlPlane;
use anabranch_proto::Protocol;
use anabranch_proto::protocols::d_slen;

use crate::common::{network, plan, run, timed};

fn named(name: &str) -> Protocol {
    Protocol::named(name).unwrap()
}

#[test]
fn each_link_counts_what_enters_it_and_each_subflow_what_its_source_sends() {
    // Round trips of 20 ms: probes leave at 0, 20, ..., 980 ms. They enter b-c 5 ms later, c-b and b-a after 10 and 15 ms;
    // those of the last probe come after 985 and 990 ms, which is the end or later.
    let network = network(&[("a", "b", 10.0, 5.0), ("b", "c", 10.0, 5.0)]);
    for name in ["d-slen", "slbn"] {
        let outcome = run(&plan(network.clone(), &[&[&["a", "b", "c"]]], named(name), 0.984));
        assert_eq!(outcome.subflows[0].control.sent, 50, "{name}");
        let crossed: Vec<u64> = outcome.links.iter().map(|link| link.control_packets).collect();
        // a-b, b-a, b-c, c-b.
        assert_eq!(crossed, [50, 49, 49, 49], "{name}");
    }
}

#[test]
fn counts_do_not_depend_on_the_way_of_control_packets() {
    let network = network(&[("a", "b", 100.0, 5.0)]);
    let mut plan = plan(network, &[&[&["a", "b"]]], named("slbn"), 0.995);
    plan.run.data = false;
    let apart = run(&plan);
    plan.run.control = ControlPlane::InBand;
    let in_band = run(&plan);
    // A packet of 64 bytes takes 5 us of 100 Mbit/s, so that the hundredth round of 10 ms begins at 990.99 ms.
    assert_eq!([&apart, &in_band].map(|outcome| outcome.subflows[0].control.sent), [100, 100]);
    assert_eq!(in_band.links[0].totals.bytes, 64 * in_band.links[0].control_packets);
    assert_eq!(apart.links[0].totals.bytes, 0);
}

#[test]
fn links_also_count_the_packets_of_links_and_of_repaired_hops() {
    // Under B-Neck the link tells the first session of the second, in a packet that no source has sent.
    let path: &[&[&str]] = &[&["a", "b"]];
    let mut plan = plan(network(&[("a", "b", 10.0, 5.0)]), &[path; 2], named("b-neck"), 2.0);
    timed(&mut plan, &[(0.0, None), (1.0, None)]);
    let outcome = run(&plan);
    let sent: u64 = outcome.subflows.iter().map(|subflow| subflow.control.sent).sum();
    let crossed: u64 = outcome.links.iter().map(|link| link.control_packets).sum();
    assert!(crossed > 0 && crossed == outcome.hops - data_hops(&outcome), "{crossed} of {}", outcome.hops);
    assert!(sent > 0 && sent < crossed, "{sent}, {crossed}");

    // A hop that repairs has an acknowledgement for each packet.
    let mut lossy = plan_of_one();
    lossy.links[0].control.loss = 0.1;
    let (plain, repaired) = (run(&plan_of_one()), run(&lossy));
    let backwards = |outcome: &anabranch_sim::Outcome| outcome.links[1].control_packets;
    assert!(backwards(&repaired) > backwards(&plain), "{} and {}", backwards(&repaired), backwards(&plain));
}

#[test]
fn window_protocols_have_no_control_packets() {
    let outcome = run(&plan(network(&[("a", "b", 10.0, 5.0)]), &[&[&["a", "b"]]], named("reno"), 1.0));
    assert_eq!((outcome.subflows[0].control.sent, outcome.links[0].control_packets), (0, 0));
}

fn plan_of_one() -> anabranch_plan::Plan {
    plan(network(&[("a", "b", 10.0, 5.0)]), &[&[&["a", "b"]]], named("slbn"), 1.0)
}

/// Data packets that entered the only link; all have 1,000 bytes.
fn data_hops(outcome: &anabranch_sim::Outcome) -> u64 {
    outcome.subflows.iter().map(|subflow| subflow.sent / 1000).sum()
}

#[test]
fn a_source_counts_the_bottlenecks_in_what_comes_back() {
    // The only link limits the only subflow from its first round on.
    for name in ["d-slen", "slbn"] {
        let control =
            run(&plan(network(&[("a", "b", 10.0, 5.0)]), &[&[&["a", "b"]]], named(name), 0.995)).subflows[0].control;
        // Of 100 probes, the last is not back.
        assert_eq!((control.sets, control.bottlenecks, control.most_bottlenecks), (99, 99, 1), "{name}");
    }
    // As printed, both links of equal capacity are in the set; corrected, only the one that set the level.
    let printed = Protocol::DSlen(d_slen::Parameters { variant: d_slen::Variant::Paper, ..Default::default() });
    for (protocol, most) in [(named("d-slen"), 1), (printed, 2)] {
        let network = network(&[("a", "b", 10.0, 5.0), ("b", "c", 10.0, 5.0)]);
        let control = run(&plan(network, &[&[&["a", "b", "c"]]], protocol, 1.0)).subflows[0].control;
        assert_eq!((control.most_bottlenecks, control.bottlenecks), (most, control.sets * u64::from(most)));
    }
    // BFYZ has no such sets.
    let control =
        run(&plan(network(&[("a", "b", 10.0, 5.0)]), &[&[&["a", "b"]]], named("bfyz"), 1.0)).subflows[0].control;
    assert_eq!((control.sets, control.bottlenecks, control.most_bottlenecks), (0, 0, 0));
}
