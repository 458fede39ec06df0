//! What applications are granted, whatever happens to connections and agents.

use std::collections::BTreeMap;

use anabranch_proto::Protocol;

use super::network::{LEASE, MILLISECOND, Row};
use crate::message::{Ask, ClientId};

/// Two links of 20 and 50 Mbit/s to a node, and one of 100 on from there.
const LINKS: [(u32, u32, f64); 3] = [(0, 0, 20.0), (1, 0, 50.0), (2, 1, 100.0)];

fn protocol(name: &str) -> Protocol {
    Protocol::named(name).unwrap()
}

fn near(rates: &[f64], wanted: &[f64]) -> bool {
    // d-SLEN's floor of 1e-6 of a portion stays on each path.
    rates.len() == wanted.len() && rates.iter().zip(wanted).all(|(rate, wanted)| (rate - wanted).abs() < 1e-3)
}

/// No application is granted more on a path than its narrowest link carries.
fn within(rates: &BTreeMap<ClientId, Vec<f64>>, most: &BTreeMap<u64, Vec<f64>>) {
    for (client, rates) in rates {
        assert!(rates.iter().zip(&most[&client.0]).all(|(rate, most)| rate <= most), "{client:?}: {rates:?}");
    }
}

/// A has both links; while B has the first, A cannot be better off than with the second alone: 50 + 0 and 20, and with C
/// on the second, too, 25 + 0, 20 and 25.
fn join_and_leave(fragility: Option<u32>) {
    let mut row = Row::new(protocol("d-slen"), 3, &LINKS);
    row.fragility = fragility;
    let most = BTreeMap::from([(1, vec![20.0, 50.0]), (2, vec![20.0]), (3, vec![50.0])]);
    let settle = |row: &mut Row| row.pass(3000, |rates| within(rates, &most));
    row.join(0, 1, f64::INFINITY, &[&[0, 2], &[1, 2]]);
    settle(&mut row);
    assert!(near(row.of(1), &[20.0, 50.0]), "{:?}", row.of(1));
    row.join(0, 2, f64::INFINITY, &[&[0, 2]]);
    settle(&mut row);
    assert!(near(row.of(1), &[0.0, 50.0]) && near(row.of(2), &[20.0]), "{:?}", row.rates);
    row.join(0, 3, f64::INFINITY, &[&[1, 2]]);
    settle(&mut row);
    assert!(near(row.of(1), &[0.0, 25.0]) && near(row.of(3), &[25.0]), "{:?}", row.rates);
    row.ask(0, 2, Ask::Leave);
    row.ask(0, 3, Ask::Leave);
    settle(&mut row);
    assert!(near(row.of(1), &[20.0, 50.0]), "{:?}", row.of(1));
    row.ask(0, 1, Ask::Leave);
    row.fragility = None;
    settle(&mut row);
    assert!(row.left.len() == 3 && row.are_clear());
}

#[test]
fn rates_are_upward_max_min_fair_and_nothing_stays_behind() {
    join_and_leave(None);
}

#[test]
fn connections_that_break_cost_time_and_nothing_else() {
    for fragility in [10, 50, 200] {
        join_and_leave(Some(fragility));
    }
}

#[test]
fn an_application_that_is_gone_leaves_within_its_lease_and_a_few_rounds() {
    for name in ["d-slen", "slbn"] {
        let mut row = Row::new(protocol(name), 3, &LINKS);
        row.join(0, 1, f64::INFINITY, &[&[1, 2]]);
        row.join(0, 2, f64::INFINITY, &[&[1, 2]]);
        row.pass(1000, |_| {});
        assert!(near(row.of(1), &[25.0]) && near(row.of(2), &[25.0]), "{:?}", row.rates);
        row.kill(0, 2);
        // It said just now that it was there. A round takes 2 + 2 hops of 5 ms. Its own round ends before it leaves, and
        // another's that is under way then ends before one that sees it.
        row.pass(LEASE.0 / MILLISECOND + 3 * 20, |_| {});
        assert!(near(row.of(1), &[50.0]), "{name}: {:?}", row.of(1));
        assert_eq!(row.agent(0).counts().lapsed, 1);
    }
}

#[test]
fn an_agent_that_comes_back_costs_a_few_rounds() {
    let most = BTreeMap::from([(1, vec![20.0, 50.0]), (2, vec![20.0]), (3, vec![100.0])]);
    for restarted in [1, 2] {
        let mut row = Row::new(protocol("d-slen"), 3, &LINKS);
        row.join(0, 1, f64::INFINITY, &[&[0, 2], &[1, 2]]);
        row.join(0, 2, f64::INFINITY, &[&[0, 2]]);
        row.join(1, 3, f64::INFINITY, &[&[2]]);
        let rests = |row: &mut Row| {
            row.pass(1500, |rates| within(rates, &most));
            // 100 for three on the last link: B has 20 and no more, the others 40 each.
            near(row.of(1), &[0.0, 40.0]) && near(row.of(2), &[20.0])
        };
        assert!(rests(&mut row), "{:?}", row.rates);
        row.restart(restarted);
        // An application joins again where the agent that it had has forgotten it.
        if restarted == 1 {
            row.join(1, 3, f64::INFINITY, &[&[2]]);
        }
        // 30 ms without a connection, then joining: two rounds at most, and as many again to settle.
        row.pass(30 + 4 * 20, |rates| within(rates, &most));
        assert!(rests(&mut row) && near(row.of(3), &[40.0]), "{restarted}: {:?}", row.rates);
        for (agent, client) in [(0, 1), (0, 2), (1, 3)] {
            row.ask(agent, client, Ask::Leave);
        }
        row.pass(500, |_| {});
        assert!(row.are_clear(), "what was counted before is forgotten");
    }
}

#[test]
fn sessions_that_ended_with_their_agent_are_forgotten_everywhere() {
    for name in ["d-slen", "slbn"] {
        let mut row = Row::new(protocol(name), 3, &LINKS);
        row.join(0, 1, f64::INFINITY, &[&[1, 2]]);
        row.join(1, 2, f64::INFINITY, &[&[2]]);
        row.pass(1000, |_| {});
        assert!(near(row.of(2), &[50.0]), "{:?}", row.rates);
        row.restart(0);
        row.pass(1000, |_| {});
        assert!(near(row.of(2), &[100.0]), "{name}: {:?}", row.rates);
    }
}

#[test]
fn a_demand_limits_a_session_and_may_change() {
    for name in ["d-slen", "slbn"] {
        let mut row = Row::new(protocol(name), 3, &LINKS);
        row.join(0, 1, 10.0, &[&[1, 2]]);
        row.join(0, 2, f64::INFINITY, &[&[1, 2]]);
        row.pass(1000, |_| {});
        assert!(near(row.of(1), &[10.0]) && near(row.of(2), &[40.0]), "{name}: {:?}", row.rates);
        row.ask(0, 1, Ask::Demand { demand: 5e6 });
        // From no demand to one, a session joins again.
        row.ask(0, 2, Ask::Demand { demand: 30e6 });
        row.pass(1000, |_| {});
        assert!(near(row.of(1), &[5.0]) && near(row.of(2), &[30.0]), "{name}: {:?}", row.rates);
        row.ask(0, 1, Ask::Leave);
        row.ask(0, 2, Ask::Leave);
        row.pass(500, |_| {});
        assert!(row.are_clear());
    }
}

#[test]
fn a_path_that_is_none_is_refused_and_leaves_nothing_behind() {
    for name in ["d-slen", "slbn"] {
        let mut row = Row::new(protocol(name), 3, &LINKS);
        // Link 7 does not exist; 1 before it does.
        row.join(0, 1, f64::INFINITY, &[&[1, 7]]);
        row.pass(500, |_| {});
        assert!(row.refused[&ClientId(1)].contains("does not exist"));
        assert!(row.left.contains(&ClientId(1)) && row.are_clear(), "{name}");
    }
    // SLBN serves one path.
    let mut row = Row::new(protocol("slbn"), 3, &LINKS);
    row.join(0, 1, f64::INFINITY, &[&[0, 2], &[1, 2]]);
    assert!(row.refused[&ClientId(1)].contains("serves one path"));
}
