//! Agents that end for good, and hops that break for long: who can do without them gets what is left.

use anabranch_proto::Protocol;

use super::network::{GIVEN_UP, HELD, LATE, Link, Network};
use crate::message::{AgentId, Ask, ClientId};

/// A diamond: 0 to 3 over 1 and over 2, and a link from 3 on.
const DIAMOND: [Link; 8] = [
    (0, 0, 1, 20.0),
    (1, 1, 3, 20.0),
    (2, 0, 2, 30.0),
    (3, 2, 3, 30.0),
    (4, 1, 0, 20.0),
    (5, 3, 1, 20.0),
    (6, 2, 0, 30.0),
    (7, 3, 2, 30.0),
];

fn near(rates: &[f64], wanted: &[f64]) -> bool {
    rates.len() == wanted.len() && rates.iter().zip(wanted).all(|(rate, wanted)| (rate - wanted).abs() < 1e-3)
}

fn diamond() -> Network {
    let mut network = Network::new(Protocol::named("d-slen").unwrap(), 4, &DIAMOND);
    network.join(0, 1, f64::INFINITY, &[&[0, 1], &[2, 3]]);
    network.join(0, 2, f64::INFINITY, &[&[0, 1]]);
    network.pass(1000, |_| {});
    assert!(near(network.of(1), &[0.0, 30.0]) && near(network.of(2), &[20.0]), "{:?}", network.rates);
    network
}

#[test]
fn a_session_does_without_a_path_over_an_agent_that_ended() {
    let mut network = diamond();
    network.end(2);
    // Half a second until 0 and 3 give it up, some rounds of 20 ms, and what rises does so late after a renewal.
    network.pass(GIVEN_UP + 200 + HELD + LATE, |_| {});
    assert!(near(network.of(1), &[10.0, 0.0]) && near(network.of(2), &[10.0]), "{:?}", network.rates);
    network.ask(0, 1, Ask::Leave);
    network.ask(0, 2, Ask::Leave);
    network.pass(300, |_| {});
    assert!(network.left.len() == 2 && network.are_clear());
}

#[test]
fn a_session_without_any_path_waits_and_can_leave() {
    let mut network = diamond();
    network.end(1);
    network.end(2);
    network.pass(2000, |_| {});
    assert!(near(network.of(1), &[0.0, 0.0]) && near(network.of(2), &[0.0]), "{:?}", network.rates);
    assert!(network.refused.is_empty());
    network.ask(0, 1, Ask::Leave);
    network.ask(0, 2, Ask::Leave);
    network.pass(100, |_| {});
    assert!(network.left.len() == 2 && network.are_clear());
}

#[test]
fn both_sides_of_a_broken_hop_go_on_and_come_together_again() {
    for (protocol, both) in [("d-slen", 20.0), ("slbn", 20.0)] {
        let links =
            [(0, 0, 1, 100.0), (1, 1, 2, 40.0), (2, 2, 3, 100.0), (3, 1, 0, 1.0), (4, 2, 1, 1.0), (5, 3, 2, 1.0)];
        let mut network = Network::new(Protocol::named(protocol).unwrap(), 4, &links);
        network.join(0, 1, f64::INFINITY, &[&[0, 1, 2]]);
        network.join(1, 2, f64::INFINITY, &[&[1, 2]]);
        network.join(2, 3, f64::INFINITY, &[&[2]]);
        network.join(0, 4, f64::INFINITY, &[&[0]]);
        let settled = [both, both, 60.0, 80.0];
        network.pass(1000, |_| {});
        for round in 0..3 {
            for client in 1..=4 {
                let rate = network.of(client)[0];
                assert!((rate - settled[client as usize - 1]).abs() < 1e-3, "{protocol} {round}: {:?}", network.rates);
            }
            network.part(1, 2);
            network.pass(1500, |_| {});
            // What crosses the hop gets nothing, and the others all of their links.
            let rates = [1, 2, 3, 4].map(|client| network.of(client)[0]);
            assert!(near(&rates, &[0.0, 0.0, 100.0, 100.0]), "{protocol} {round}: {rates:?}");
            // A message more, that 2 will not have heard of at once.
            network.join(1, 10 + round, f64::INFINITY, &[&[1]]);
            network.pass(500, |_| {});
            network.ask(1, 10 + round, Ask::Leave);
            network.pass(8000, |_| {});
            network.mend(1, 2);
            network.pass(3000, |_| {});
        }
        for (agent, client) in [(0, 1), (1, 2), (2, 3), (0, 4)] {
            network.ask(agent, client, Ask::Leave);
        }
        network.pass(500, |_| {});
        assert!(network.are_clear() && network.left.contains(&ClientId(1)), "{protocol}");
    }
}

#[test]
fn all_agents_hear_of_links_that_go_and_come() {
    let mut network = diamond();
    let of = |network: &Network, who: u32, whose: u32, link: u32| {
        network.heard_of.get(&(AgentId(who), AgentId(whose), link)).map(|capacity| capacity / 1e6)
    };
    for who in 0..4 {
        // Neighbours came in the beginning.
        assert_eq!([of(&network, who, 2, 3), of(&network, who, 3, 7)], [Some(30.0), Some(30.0)], "{who}");
    }
    network.part(2, 3);
    network.pass(GIVEN_UP + 50, |_| {});
    for who in 0..4 {
        assert_eq!([of(&network, who, 2, 3), of(&network, who, 3, 7)], [Some(0.0), Some(0.0)], "{who}");
        assert_eq!(of(&network, who, 0, 2), Some(30.0));
    }
    network.set_capacity(0, 25.0);
    network.mend(2, 3);
    // News of a link that was down a moment ago are held for the rest of a second.
    network.pass(1050, |_| {});
    for who in 0..4 {
        assert_eq!([of(&network, who, 2, 3), of(&network, who, 0, 0)], [Some(30.0), Some(25.0)], "{who}");
    }
    // Who comes back hears of it all, too.
    network.set_capacity(3, 28.0);
    network.pass(1050, |_| {});
    network.heard_of.clear();
    network.restart(1);
    network.pass(200, |_| {});
    assert_eq!([of(&network, 1, 2, 3), of(&network, 1, 0, 0)], [Some(28.0), Some(25.0)]);
}

#[test]
fn a_session_takes_other_paths_when_it_is_told() {
    for (name, paths) in [("d-slen", 2), ("slbn", 1)] {
        let mut network = Network::new(Protocol::named(name).unwrap(), 4, &DIAMOND);
        let all: [&[u32]; 2] = [&[0, 1], &[2, 3]];
        network.join(0, 1, f64::INFINITY, &all[..1]);
        network.join(0, 2, f64::INFINITY, &[&[0, 1]]);
        network.pass(500, |_| {});
        assert!(near(network.of(1), &[10.0]) && near(network.of(2), &[10.0]), "{name}: {:?}", network.rates);
        network.take_paths(0, 1, &all[2 - paths..]);
        network.pass(500 + LATE, |_| {});
        let wanted: &[f64] = if paths == 2 { &[0.0, 30.0] } else { &[30.0] };
        assert!(near(network.of(1), wanted) && near(network.of(2), &[20.0]), "{name}: {:?}", network.rates);
        // Paths that the session has already change nothing.
        let before = network.agent(0).counts();
        network.take_paths(0, 1, &all[2 - paths..]);
        network.pass(100, |rates| assert!(near(&rates[&ClientId(1)], wanted)));
        assert_eq!(network.agent(0).counts().lost, before.lost);
        network.ask(0, 1, Ask::Leave);
        network.ask(0, 2, Ask::Leave);
        network.pass(500, |_| {});
        assert!(network.are_clear());
    }
}
