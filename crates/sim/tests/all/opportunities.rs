//! Links that send when a trace lets them, under protocols that keep windows.

use crate::common::{MILLISECOND, network, plan, run};
use anabranch_core::{Bytes, Span};
use anabranch_plan::opportunities::{Milliseconds, Opportunities};
use anabranch_plan::{Limit, Plan};
use anabranch_proto::Protocol;
use anabranch_queues::{QUEUES, QueueDiscipline};
use anabranch_scenario::Trace;
use anabranch_sim::{Outcome, simulate_on};

/// Links of 100 ms there and back, of which one has 250 packets of 1,500 bytes waiting at most, and a trace.
fn traced(count: usize, protocol: &str, times: Milliseconds, seconds: f64) -> Plan {
    let path: &[&[&str]] = &[&["a", "b", "c"]];
    let links = [("a", "b", 1000.0, 1.0), ("b", "c", 10.0, 49.0)];
    let mut plan = plan(network(&links), &vec![path; count], Protocol::named(protocol).unwrap(), seconds);
    plan.transfers.iter_mut().for_each(|transfer| transfer.packet = Bytes(1500));
    let opportunities = Opportunities { times, bytes: 1500 };
    plan.links[2].limit = Limit { packets: Some(250), bytes: None };
    plan.links[2].changes = opportunities.rates(Span(20 * MILLISECOND), plan.run.duration);
    plan.links[2].opportunities = Some(opportunities);
    plan
}

/// Three packets in 12 ms for 600 ms, then five in 4 ms for 400 ms, then none for 200 ms: 651 in 1.2 s, or 6.5 Mbit/s.
fn pulses() -> Milliseconds {
    let slow = (0..600).filter(|ms| ms % 12 % 5 == 1);
    let fast = (600..1000).step_by(4).flat_map(|ms| [ms; 5]);
    Milliseconds::new(slow.chain(fast).chain([1200]).collect()).unwrap()
}

/// What arrived, how late and what was lost of each subflow.
fn course(outcome: &Outcome) -> String {
    let of = |s: &anabranch_sim::SubflowTotal| format!("{} {} {}", s.delivered, s.mean_delay_s, s.most_delay_s);
    let dropped: Vec<u64> = outcome.links.iter().map(|link| link.totals.dropped).collect();
    format!("{:?} {dropped:?}", outcome.subflows.iter().map(of).collect::<Vec<_>>())
}

#[test]
fn a_drop_tail_queue_does_what_a_link_without_a_discipline_does() {
    for packet in [1500, 700] {
        let mut plain = traced(3, "reno", pulses(), 20.0);
        plain.transfers[1].packet = Bytes(packet);
        if packet < 1500 {
            // Where a packet is sent in parts, one more may wait in the discipline.
            plain.links[2].limit = Limit::default();
        }
        let mut queued = plain.clone();
        queued.links[2].discipline = Some(QueueDiscipline::named("drop-tail").unwrap());
        let (plain, queued) = (run(&plain), run(&queued));
        assert_eq!(course(&plain), course(&queued));
        assert!(packet < 1500 || plain.links[2].totals.dropped > 0);
    }
}

#[test]
fn a_run_repeats_itself_on_any_number_of_threads() {
    let without = std::iter::once(None);
    for discipline in without.chain(QUEUES.iter().map(|(name, ..)| Some(QueueDiscipline::named(name).unwrap()))) {
        let mut plan = traced(3, "reno", pulses(), 15.0);
        plan.links[2].discipline.clone_from(&discipline);
        let alone = run(&plan);
        let mut together = simulate_on(&plan, 2, &mut |_| true);
        assert_eq!(together.threads, 2);
        together.threads = 1;
        assert!(format!("{alone:?}") == format!("{together:?}"), "{discipline:?}");
    }
}

#[test]
fn all_that_is_sent_arrives_with_any_discipline() {
    for (name, ..) in QUEUES {
        let mut plan = traced(3, "reno", pulses(), 300.0);
        plan.links[2].discipline = Some(QueueDiscipline::named(name).unwrap());
        plan.transfers.iter_mut().for_each(|transfer| transfer.amount = Some(Bytes(2_345_678)));
        let outcome = run(&plan);
        assert!(outcome.subflows.iter().all(|s| s.delivered == 2_345_678), "{name}: {:?}", outcome.subflows);
        assert_eq!(outcome.under_way, 0, "{name}");
    }
}

#[test]
fn codel_looks_at_a_packet_when_its_opportunity_comes() {
    // Every 300 ms there are opportunities for 100 packets, more than come: what waits does so for up to 300 ms, never
    // below 5 ms for long, and CoDel drops. Had it looked at packets when they came to the free link, it would drop none.
    let times = Milliseconds::new(vec![300; 100]).unwrap();
    let mut plan = traced(1, "reno", times, 30.0);
    plan.links[2].discipline = Some(QueueDiscipline::named("codel").unwrap());
    let outcome = run(&plan);
    assert!(outcome.links[2].totals.dropped > 0, "{:?}", outcome.links[2].totals);
}

#[test]
fn reno_uses_cellular_links_as_an_independent_simulation_does() {
    // What part of the opportunities another program used: 100 ms there and back, 250 packets of drop-tail queue, an
    // acknowledgement for each packet, and a second at the least until a packet is taken for lost [rfc6298, sec. 2.4].
    let cases = [
        ("Verizon-LTE-short.down", 58_655, 0.991),
        ("Verizon-LTE-short.up", 69_367, 0.996),
        ("ATT-LTE-driving-2016.down", 45_604, 0.962),
    ];
    for (file, count, wanted) in cases {
        let path = format!("{}/../../../shared/data/traces/{file}", env!("CARGO_MANIFEST_DIR"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {path} is not there");
            continue;
        };
        let Ok(Trace::Opportunities(times)) = Trace::read(&text) else { panic!("{file} is a trace") };
        assert_eq!(times.as_slice().len(), count, "{file}");
        let seconds = times.period() as f64 / 1e12;
        let opportunities = times.as_slice().len() as f64;
        let mut plan = traced(1, "reno", times, seconds);
        plan.run.transport.least_wait = Span(1000 * MILLISECOND);
        let utilisation = run(&plan).subflows[0].delivered as f64 / 1500.0 / opportunities;
        assert!((utilisation - wanted).abs() < 0.02, "{file}: {utilisation}, and {wanted} elsewhere");
    }
}
