//! s-PERC: control packets keep to their part of each link, rounds follow round trips, and rates are exact all the same.

use crate::common::{MEGA, assert_close, last_rates, network, plan, run};
use anabranch_core::quantity::SpanText;
use anabranch_core::{Bytes, Span};
use anabranch_plan::{ControlPlane, Plan};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::Headroom;
use anabranch_proto::protocols::s_perc::{Parameters, Round};

fn with(parameters: Parameters) -> Protocol {
    Protocol::SPerc(parameters)
}

/// `each` sessions in either direction of a link of 10 Mbit/s and 5 ms.
fn both_directions(each: usize, parameters: Parameters, seconds: f64) -> Plan {
    let ends: [&[&[&str]]; 2] = [&[&["a", "b"]], &[&["b", "a"]]];
    let sessions: Vec<_> = (0..2 * each).map(|session| ends[session % 2]).collect();
    plan(network(&[("a", "b", 10.0, 5.0)]), &sessions, with(parameters), seconds)
}

#[test]
fn control_packets_keep_to_their_part_of_a_link() {
    // 100 sessions in either direction: one in each round trip would send 200 * 512 bits in 10 ms, all of the link.
    for (control, least) in [(0.04, 0.9), (0.1, 0.9), (1.0, 0.7)] {
        let mut plan = both_directions(100, Parameters { control, ..Parameters::default() }, 20.0);
        plan.run.data = false;
        let outcome = run(&plan);
        let bits = |link: usize| outcome.links[link].control_packets as f64 * 512.0;
        // A packet for each session goes before links know all of them.
        let most = control * 10.0 * MEGA * 20.0 + 400.0 * 512.0;
        assert!((0..2).all(|link| bits(link) <= most && bits(link) >= least * most), "{control}: {} {most}", bits(0));
        assert_close(&last_rates(&plan, &outcome), &[0.1; 200], 1e-5);
    }
}

#[test]
fn what_the_authors_do_not_hand_out_drains_the_queue_of_the_beginning() {
    // 20 sessions that begin at once are granted 1, 1/2, ..., 1/20 of the link: 3.6 times its capacity for a round trip.
    let left = |headroom: f64| {
        let mut plan = both_directions(20, Parameters { headroom: Headroom(headroom), ..Parameters::default() }, 60.0);
        plan.run.control = ControlPlane::InBand;
        plan.transfers.iter_mut().for_each(|transfer| transfer.packet = Bytes(1000));
        let outcome = run(&plan);
        assert_close(&last_rates(&plan, &outcome), &[(1.0 - headroom) * 0.5; 40], 1e-5);
        outcome.samples.link_backlog_bytes[outcome.samples.link_backlog_bytes.len() - 2]
    };
    // Control packets take up to 4 % of the 6 % that are left free, and the rest drains it.
    assert!(left(0.06) < 10_000 && left(0.0) > 1_000_000, "{} {}", left(0.06), left(0.0));
}

#[test]
fn adaptive_rounds_reach_exact_rates_where_round_trips_are_longer_than_the_first() {
    // Links A, B, C of 10, 20, 30 Mbit/s and 300 ms each, so that round trips are 0.6, 1.2 and 1.8 s. A gives its two 5
    // each. B has 15 left for two, 7.5 each; C has 30 - 5 - 7.5 = 17.5 left for one.
    let links = || network(&[("0", "1", 10.0, 300.0), ("1", "2", 20.0, 300.0), ("2", "3", 30.0, 300.0)]);
    let sessions: [&[&[&str]]; 5] =
        [&[&["0", "1", "2", "3"]], &[&["0", "1"]], &[&["1", "2"]], &[&["2", "3"]], &[&["1", "2", "3"]]];
    for round in [Round::Adaptive, Round::Fixed(SpanText(Span::s(2)))] {
        let mut plan = plan(links(), &sessions, with(Parameters { round, ..Parameters::default() }), 30.0);
        plan.run.data = false;
        assert_close(&last_rates(&plan, &run(&plan)), &[5.0, 5.0, 7.5, 17.5, 7.5], 1e-5);
    }
}
