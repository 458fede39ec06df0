//! What applications are granted, whatever happens to connections and agents.

use std::collections::BTreeMap;

use anabranch_proto::Protocol;

use super::network::{LATE, LEASE, Link, MILLISECOND, Network};
use crate::message::{Ask, ClientId};

/// Two links of 20 and 50 Mbit/s to a node, and one of 100 on from there.
const LINKS: [Link; 3] = [(0, 0, 1, 20.0), (1, 0, 1, 50.0), (2, 1, 2, 100.0)];

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
    let mut network = Network::new(protocol("d-slen"), 3, &LINKS);
    network.fragility = fragility;
    let most = BTreeMap::from([(1, vec![20.0, 50.0]), (2, vec![20.0]), (3, vec![50.0])]);
    let settle = |network: &mut Network| network.pass(3000, |rates| within(rates, &most));
    network.join(0, 1, f64::INFINITY, &[&[0, 2], &[1, 2]]);
    settle(&mut network);
    assert!(near(network.of(1), &[20.0, 50.0]), "{:?}", network.of(1));
    network.join(0, 2, f64::INFINITY, &[&[0, 2]]);
    settle(&mut network);
    assert!(near(network.of(1), &[0.0, 50.0]) && near(network.of(2), &[20.0]), "{:?}", network.rates);
    network.join(0, 3, f64::INFINITY, &[&[1, 2]]);
    settle(&mut network);
    assert!(near(network.of(1), &[0.0, 25.0]) && near(network.of(3), &[25.0]), "{:?}", network.rates);
    network.ask(0, 2, Ask::Leave);
    network.ask(0, 3, Ask::Leave);
    settle(&mut network);
    assert!(near(network.of(1), &[20.0, 50.0]), "{:?}", network.of(1));
    network.ask(0, 1, Ask::Leave);
    network.fragility = None;
    settle(&mut network);
    assert!(network.left.len() == 3 && network.are_clear());
}

#[test]
fn reserved_parts_come_first_and_one_that_does_not_fit_is_refused() {
    let mut network = Network::new(protocol("d-slen"), 3, &LINKS);
    // A has all of the first link, 20. Of the second A has 20 for the rest of its 40, and a share of 15, as B has.
    network.join_with(0, 1, 40.0, &[&[0, 2], &[1, 2]]);
    network.join(0, 2, f64::INFINITY, &[&[1, 2]]);
    network.pass(3000, |_| {});
    assert!(near(network.of(1), &[20.0, 35.0]) && near(network.of(2), &[15.0]), "{:?}", network.rates);
    // With 35 of 55 on the second link, A has 25.5 reserved there: 40 more do not fit, and nobody notices.
    network.join_with(0, 3, 40.0, &[&[1, 2]]);
    network.pass(3000, |_| {});
    assert!(near(network.of(3), &[0.0]) && near(network.of(1), &[20.0, 35.0]), "{:?}", network.rates);
    network.ask(0, 3, Ask::Leave);
    // 20 more do: 20 + s for A and for C, and s for B, are 50.
    network.join_with(0, 4, 20.0, &[&[1, 2]]);
    network.pass(4000, |_| {});
    let s = 10.0 / 3.0;
    let are_right =
        near(network.of(1), &[20.0, 20.0 + s]) && near(network.of(2), &[s]) && near(network.of(4), &[20.0 + s]);
    assert!(are_right, "{:?}", network.rates);
    for client in [1, 2, 4] {
        network.ask(0, client, Ask::Leave);
    }
    network.pass(3000, |_| {});
    assert!(network.are_clear());
}

#[test]
fn a_protocol_that_reserves_nothing_says_so() {
    let mut network = Network::new(protocol("slbn"), 3, &LINKS);
    network.join_with(0, 1, 5.0, &[&[0]]);
    network.pass(500, |_| {});
    let said = &network.refused[&ClientId(1)];
    assert!(
        said.starts_with("5e6 bit/s are reserved, and SLBN reserves nothing") || said.contains("reserves nothing"),
        "{said}"
    );
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
        let mut network = Network::new(protocol(name), 3, &LINKS);
        network.join(0, 1, f64::INFINITY, &[&[1, 2]]);
        network.join(0, 2, f64::INFINITY, &[&[1, 2]]);
        network.pass(1000, |_| {});
        assert!(near(network.of(1), &[25.0]) && near(network.of(2), &[25.0]), "{:?}", network.rates);
        network.kill(0, 2);
        // It said just now that it was there. A round takes 2 + 2 hops of 5 ms. Its own round ends before it leaves, and
        // another's that is under way then ends before one that sees it; what rises does so late.
        network.pass(LEASE.0 / MILLISECOND + 3 * 20 + LATE, |_| {});
        assert!(near(network.of(1), &[50.0]), "{name}: {:?}", network.of(1));
        assert_eq!(network.agent(0).counts().lapsed, 1);
    }
}

#[test]
fn an_agent_that_comes_back_costs_a_few_rounds() {
    let most = BTreeMap::from([(1, vec![20.0, 50.0]), (2, vec![20.0]), (3, vec![100.0])]);
    for restarted in [1, 2] {
        let mut network = Network::new(protocol("d-slen"), 3, &LINKS);
        network.join(0, 1, f64::INFINITY, &[&[0, 2], &[1, 2]]);
        network.join(0, 2, f64::INFINITY, &[&[0, 2]]);
        network.join(1, 3, f64::INFINITY, &[&[2]]);
        let rests = |network: &mut Network| {
            network.pass(1500, |rates| within(rates, &most));
            // 100 for three on the last link: B has 20 and no more, the others 40 each.
            near(network.of(1), &[0.0, 40.0]) && near(network.of(2), &[20.0])
        };
        assert!(rests(&mut network), "{:?}", network.rates);
        network.restart(restarted);
        // Up to 60 ms without a connection, then joining: two rounds at most, and as many again to settle.
        network.pass(60 + 4 * 20, |rates| within(rates, &most));
        assert!(rests(&mut network) && near(network.of(3), &[40.0]), "{restarted}: {:?}", network.rates);
        for (agent, client) in [(0, 1), (0, 2), (1, 3)] {
            network.ask(agent, client, Ask::Leave);
        }
        network.pass(500, |_| {});
        assert!(network.are_clear(), "what was counted before is forgotten");
    }
}

/// The sums of what is granted on the three links: to 1 over both ways, to 2 and 3 over one of them, to 4 over the last link.
fn sums(rates: &BTreeMap<ClientId, Vec<f64>>) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for (client, rates) in rates {
        let first: &[usize] = if client.0 == 3 { &[1] } else { &[0, 1] };
        for (link, rate) in first.iter().zip(rates) {
            sums[*link] += if client.0 == 4 { 0.0 } else { *rate };
            sums[2] += rate;
        }
    }
    sums
}

#[test]
fn no_link_is_granted_beyond_its_capacity_when_sessions_and_agents_come() {
    for name in ["d-slen", "slbn"] {
        let mut network = Network::new(protocol(name), 3, &LINKS);
        let both: &[&[u32]] = if name == "slbn" { &[&[0, 2]] } else { &[&[0, 2], &[1, 2]] };
        let mut most = [0.0_f64; 3];
        let mut pass = |network: &mut Network| {
            network.pass(1500, |rates| {
                let sums = sums(rates);
                assert!(
                    sums.iter().zip(LINKS).all(|(sum, link)| *sum <= link.3 * 1.0001),
                    "{name}: {sums:?} {rates:?}"
                );
                most = std::array::from_fn(|link| most[link].max(sums[link]));
            });
        };
        network.join(0, 1, f64::INFINITY, both);
        pass(&mut network);
        network.join(0, 2, f64::INFINITY, &[&[0, 2]]);
        pass(&mut network);
        network.join(0, 3, f64::INFINITY, &[&[1, 2]]);
        pass(&mut network);
        network.join(1, 4, f64::INFINITY, &[&[2]]);
        pass(&mut network);
        // All links count anew; 4 is nearer to the last one than the others.
        network.restart(2);
        pass(&mut network);
        network.restart(2);
        pass(&mut network);
        // Those at 0 do not hear of it, and keep their rates until they give 1 up.
        network.part(0, 1);
        network.pass(50, |_| {});
        network.restart(2);
        pass(&mut network);
        network.mend(0, 1);
        pass(&mut network);
        // Those at 0 join again, but their agent is heard late: it holds their rates as long as the others hold theirs.
        network.part(0, 1);
        network.restart(0);
        network.pass(300, |_| {});
        network.mend(0, 1);
        pass(&mut network);
        assert!((most[0] - 20.0).abs() < 1e-3 && (most[1] - 50.0).abs() < 1e-3, "{name}: {most:?}");
    }
}

#[test]
fn sessions_that_ended_with_their_agent_are_forgotten_everywhere() {
    for name in ["d-slen", "slbn"] {
        let mut network = Network::new(protocol(name), 3, &LINKS);
        network.join(0, 1, f64::INFINITY, &[&[1, 2]]);
        network.join(1, 2, f64::INFINITY, &[&[2]]);
        network.pass(1000, |_| {});
        assert!(near(network.of(2), &[50.0]), "{:?}", network.rates);
        network.kill(0, 1);
        network.restart(0);
        network.pass(1000, |_| {});
        assert!(near(network.of(2), &[100.0]), "{name}: {:?}", network.rates);
    }
}

#[test]
fn a_demand_limits_a_session_and_may_change() {
    for name in ["d-slen", "slbn"] {
        let mut network = Network::new(protocol(name), 3, &LINKS);
        network.join(0, 1, 10.0, &[&[1, 2]]);
        network.join(0, 2, f64::INFINITY, &[&[1, 2]]);
        network.pass(1000, |_| {});
        assert!(near(network.of(1), &[10.0]) && near(network.of(2), &[40.0]), "{name}: {:?}", network.rates);
        network.ask(0, 1, Ask::Demand { demand: 5e6 });
        // From no demand to one, a session joins again.
        network.ask(0, 2, Ask::Demand { demand: 30e6 });
        network.pass(1000, |_| {});
        assert!(near(network.of(1), &[5.0]) && near(network.of(2), &[30.0]), "{name}: {:?}", network.rates);
        network.ask(0, 1, Ask::Leave);
        network.ask(0, 2, Ask::Leave);
        network.pass(500, |_| {});
        assert!(network.are_clear());
    }
}

#[test]
fn a_path_that_is_none_is_refused_and_leaves_nothing_behind() {
    for name in ["d-slen", "slbn"] {
        let mut network = Network::new(protocol(name), 3, &LINKS);
        // Link 7 does not exist; 1 before it does.
        network.join(0, 1, f64::INFINITY, &[&[1, 7]]);
        network.pass(500, |_| {});
        assert!(network.refused[&ClientId(1)].contains("does not exist"));
        assert!(network.left.contains(&ClientId(1)) && network.are_clear(), "{name}");
    }
    // SLBN serves one path.
    let mut network = Network::new(protocol("slbn"), 3, &LINKS);
    network.join(0, 1, f64::INFINITY, &[&[0, 2], &[1, 2]]);
    assert!(network.refused[&ClientId(1)].contains("serves one path"));
}
