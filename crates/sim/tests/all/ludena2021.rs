//! The scenarios of [ludena2021] whose answers are printed.

use crate::common::{MEGA, MILLISECOND, assert_close, last_gauge, last_rates, network, plan, run};
use anabranch_core::Rate;
use anabranch_core::quantity::RateText;
use anabranch_plan::Plan;
use anabranch_proto::Protocol;
use anabranch_proto::protocols::{d_slen, vo_le_tran};
use anabranch_sim::Outcome;

/// Scenario 1: c1 with three paths, c2 with one, c3 with two.
fn scenario_1(protocol: Protocol, seconds: f64) -> Plan {
    let links = [("r1", "r2"), ("r2", "r3"), ("r3", "r4"), ("r4", "r5"), ("r5", "r6"), ("r3", "r6"), ("r1", "r4")];
    let mut links: Vec<_> = links.iter().map(|&(a, b)| (a, b, 1.0, 5.0)).collect();
    links.extend([("r7", "r8", 3.0, 5.0), ("r8", "r2", 1.0, 5.0), ("r8", "r5", 1.0, 5.0)]);
    let c1: &[&[&str]] = &[&["r1", "r2", "r3", "r4", "r5", "r6"], &["r1", "r2", "r3", "r6"], &["r1", "r4", "r5", "r6"]];
    let c3: &[&[&str]] = &[&["r7", "r8", "r2", "r3", "r4", "r5"], &["r7", "r8", "r5"]];
    plan(network(&links), &[c1, &[&["r7", "r8"]], c3], protocol, seconds)
}

/// Scenario 2: four connections with two paths each.
fn scenario_2(protocol: Protocol, seconds: f64) -> Plan {
    let limited = [("r2", "r3", 6.0), ("r5", "r6", 9.0), ("r9", "r10", 8.0), ("r13", "r14", 4.0), ("r17", "r18", 5.0)];
    let free = [
        ("r1", "r2"),
        ("r3", "r4"),
        ("r1", "r5"),
        ("r6", "r4"),
        ("r7", "r5"),
        ("r6", "r8"),
        ("r7", "r9"),
        ("r10", "r8"),
        ("r11", "r9"),
        ("r10", "r12"),
        ("r11", "r13"),
        ("r14", "r12"),
        ("r15", "r9"),
        ("r10", "r16"),
        ("r15", "r17"),
        ("r18", "r16"),
    ];
    let links: Vec<_> =
        limited.iter().map(|&(a, b, c)| (a, b, c, 5.0)).chain(free.iter().map(|&(a, b)| (a, b, 100.0, 5.0))).collect();
    let connections: [&[&[&str]]; 4] = [
        &[&["r1", "r2", "r3", "r4"], &["r1", "r5", "r6", "r4"]],
        &[&["r7", "r5", "r6", "r8"], &["r7", "r9", "r10", "r8"]],
        &[&["r11", "r9", "r10", "r12"], &["r11", "r13", "r14", "r12"]],
        &[&["r15", "r9", "r10", "r16"], &["r15", "r17", "r18", "r16"]],
    ];
    plan(network(&links), &connections, protocol, seconds)
}

fn printed() -> Protocol {
    Protocol::DSlen(d_slen::Parameters { variant: d_slen::Variant::Paper, ..Default::default() })
}

fn vo_le_tran() -> Protocol {
    Protocol::VoLeTran(vo_le_tran::Parameters::default())
}

/// The most packets that ever waited for a link.
fn longest_queue(outcome: &Outcome) -> u32 {
    outcome.links.iter().map(|l| l.totals.most_packets).max().unwrap()
}

#[test]
fn d_slen_finds_the_rates_of_scenario_1() {
    let plan = scenario_1(Protocol::default(), 5.0);
    let outcome = run(&plan);
    assert_close(&last_rates(&plan, &outcome), &[1.2, 1.8, 1.2], 0.002);
    let last = last_gauge(&outcome);
    assert!(last.residual < 1e-3 && last.overload < 1e-5, "{last:?}");
    // Three subflows at most share a link.
    assert!(longest_queue(&outcome) <= 3);
}

#[test]
fn d_slen_finds_the_rates_of_scenario_2() {
    let plan = scenario_2(Protocol::default(), 5.0);
    let outcome = run(&plan);
    assert_close(&last_rates(&plan, &outcome), &[8.0; 4], 0.002);
    assert!(longest_queue(&outcome) <= 3);
}

#[test]
fn d_slen_as_printed_finds_them_too_when_all_start_at_once() {
    for (plan, wanted) in
        [(scenario_1(printed(), 5.0), vec![1.2, 1.8, 1.2]), (scenario_2(printed(), 10.0), vec![8.0; 4])]
    {
        assert_close(&last_rates(&plan, &run(&plan)), &wanted, 1e-4);
    }
}

/// Round trips until all connections are within a share of these rates for good; a round trip is that of the longest path.
fn rounds_to(plan: &Plan, wanted: &[f64], round_trip: f64, share: f64) -> f64 {
    let outcome = run(plan);
    let mut rates = vec![0.0; outcome.subflows.len()];
    let mut last = 0.0;
    for grants in outcome.grants.chunk_by(|a, b| b.time.0 - a.time.0 < MILLISECOND) {
        for grant in grants {
            rates[grant.subflow as usize] = grant.rate.0 / MEGA;
        }
        let mut totals = vec![0.0; wanted.len()];
        for (subflow, rate) in outcome.subflows.iter().zip(&rates) {
            totals[subflow.connection as usize] += rate;
        }
        if totals.iter().zip(wanted).any(|(got, wanted)| (got - wanted).abs() > share * wanted) {
            last = grants[0].time.seconds();
        }
    }
    last / round_trip
}

#[test]
fn d_slen_takes_as_many_round_trips_as_were_counted_independently() {
    // Counted by two independent programs: 5, 11, 17 and 6, 24, 47 to 10, 1 and 0.1 %, give or take 3. Here a rate counts
    // until the next is granted.
    let plans = [
        (scenario_1(Protocol::default(), 5.0), vec![1.2, 1.8, 1.2], 0.05, [5.0, 11.0, 17.0]),
        (scenario_2(Protocol::default(), 5.0), vec![8.0; 4], 0.03, [6.0, 24.0, 47.0]),
    ];
    for (mut plan, wanted, round_trip, counts) in plans {
        plan.run.data = false;
        for (share, count) in [0.1, 0.01, 0.001].into_iter().zip(counts) {
            let rounds = rounds_to(&plan, &wanted, round_trip, share);
            assert!((rounds - count).abs() <= 3.0, "{rounds} round trips to {share}, not {count}");
        }
    }
}

#[test]
fn vo_le_tran_comes_to_the_rates_of_scenario_2_by_hundreds_of_rounds() {
    let mut plan = scenario_2(vo_le_tran(), 60.0);
    plan.run.data = false;
    // An iteration takes two round trips of 30 ms: one to tell, one to ask. Iterated in one piece it takes 302.
    let rounds = rounds_to(&plan, &[8.0; 4], 0.06, 0.01);
    assert!((200.0..450.0).contains(&rounds), "{rounds}");
    let first: Vec<f64> = run(&plan).grants.iter().filter(|g| g.subflow == 0).map(|g| g.rate.0).collect();
    let turns = first.windows(3).filter(|w| (w[1] - w[0]) * (w[2] - w[1]) < 0.0).count();
    assert!(turns >= 100, "{turns}");
}

#[test]
fn vo_le_tran_is_slow_in_scenario_1() {
    let mut plan = scenario_1(vo_le_tran(), 160.0);
    plan.run.data = false;
    // 1,500 iterations of two round trips of 50 ms are 150 s. Rates come down to the fair ones from above.
    let outcome = run(&plan);
    assert!(outcome.samples.overload.iter().take(90).all(|overload| *overload > 0.01));
}

#[test]
fn vo_le_tran_comes_to_fair_rates_in_scenario_1_at_last() {
    let mut plan = scenario_1(vo_le_tran(), 1000.0);
    plan.run.data = false;
    let outcome = run(&plan);
    let last = last_gauge(&outcome);
    assert!(last.residual < 0.02 && last.overload < 1e-3, "{last:?} {:?}", last_rates(&plan, &outcome));
}

#[test]
fn vo_le_tran_is_the_same_on_links_a_million_times_as_fast_in_a_unit_to_match() {
    let unit = RateText(Rate(1e12));
    let mut plan =
        scenario_2(Protocol::VoLeTran(vo_le_tran::Parameters { unit, ..vo_le_tran::Parameters::default() }), 60.0);
    let capacities: Vec<Rate> = plan.network.links().iter().map(|l| Rate(l.capacity.0 * 1e6)).collect();
    plan.network = (*plan.network).clone().with_capacities(&capacities).unwrap().into();
    plan.run.data = false;
    assert_close(&last_rates(&plan, &run(&plan)), &[8e6; 4], 0.08e6);
}
