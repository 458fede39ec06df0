//! Agents that end and come back in networks with loops, one after the other or at once: in the end rates are fair, and
//! nothing of those who left is counted anywhere.

use std::collections::BTreeSet;

use anabranch_core::Time;
use anabranch_proto::Protocol;
use proptest::prelude::*;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::network::{HELD, LATE, LEASE, Link, MILLISECOND, Network, hello};
use crate::message::{Ask, ClientId, HopMessage, Payload};
use crate::{Action, Agent, AgentId, Event, Fields};

/// A ring of three, with links both ways.
const RING: [Link; 6] =
    [(0, 0, 1, 20.0), (1, 1, 2, 20.0), (2, 2, 0, 20.0), (3, 1, 0, 20.0), (4, 2, 1, 20.0), (5, 0, 2, 20.0)];

fn protocol(name: &str) -> Protocol {
    Protocol::named(name).unwrap()
}

fn is(rate: f64, wanted: f64) -> bool {
    (rate - wanted).abs() < 1e-3
}

#[test]
fn in_a_ring_an_agent_comes_back_while_one_hop_is_still_down() {
    // Hops come back 15 to 60 ms after they broke, each at its time: what is sent on before the last one counts.
    let mut network = Network::new(protocol("d-slen"), 3, &RING);
    network.join(1, 1, f64::INFINITY, &[&[1, 2]]);
    network.join(0, 2, f64::INFINITY, &[&[0, 1]]);
    network.pass(500, |_| {});
    for _ in 0..10 {
        network.restart(2);
        network.pass(3000, |_| {});
        assert!(is(network.of(1)[0], 10.0) && is(network.of(2)[0], 10.0), "{:?}", network.rates);
    }
    network.ask(1, 1, Ask::Leave);
    network.ask(0, 2, Ask::Leave);
    network.pass(500, |_| {});
    assert!(network.left.len() == 2 && network.are_clear());
}

#[test]
fn two_agents_that_come_back_at_once_are_heard_of_in_any_order() {
    let links = [(0, 0, 1, 100.0), (1, 1, 2, 50.0), (2, 2, 3, 20.0), (3, 3, 4, 100.0)];
    for name in ["d-slen", "slbn"] {
        let mut network = Network::new(protocol(name), 5, &links);
        network.join(1, 1, f64::INFINITY, &[&[1, 2]]);
        network.pass(500, |_| {});
        // Agent 2 hears of 4 first, agent 1 of 0.
        network.restart(4);
        network.pass(2, |_| {});
        network.restart(0);
        network.pass(500, |_| {});
        assert!(is(network.of(1)[0], 20.0), "{name}: {:?}", network.rates);
        assert!((1..4).all(|agent| network.agent(agent).counts().renewals == 2));
        network.ask(1, 1, Ask::Leave);
        network.pass(200, |_| {});
        assert!(network.are_clear(), "{name}");
    }
}

#[test]
fn news_that_come_late_are_no_news() {
    let mut network = Network::new(protocol("d-slen"), 3, &RING);
    network.pass(50, |_| {});
    network.cut((AgentId(0), AgentId(1)));
    network.restart(2);
    network.restart(2);
    network.pass(1000, |_| {});
    let renewals = |network: &Network| [0, 1].map(|agent| network.agent(agent).counts().renewals);
    let before = renewals(&network);
    assert!(before.iter().all(|&count| (1..=2).contains(&count)), "{before:?}");
    network.pass(1000, |_| {});
    assert_eq!(renewals(&network), before);
}

#[test]
fn a_neighbour_for_which_too_much_waits_is_given_up_and_taken_up_again() {
    let mut network = Network::new(protocol("slbn"), 3, &RING);
    network.join(0, 1, f64::INFINITY, &[&[0, 1]]);
    network.join(2, 2, f64::INFINITY, &[&[2, 0]]);
    network.pass(600, |_| {});
    assert!(is(network.of(1)[0], 10.0) && is(network.of(2)[0], 10.0), "{:?}", network.rates);
    // Over a thousand come while the hop to 1 is down.
    network.cut((AgentId(0), AgentId(1)));
    for client in 10..1015 {
        network.join(0, client, f64::INFINITY, &[&[0]]);
        network.ask(0, client, Ask::Leave);
    }
    network.pass(2000, |_| {});
    assert_eq!([0, 1, 2].map(|agent| network.agent(agent).counts().given_up), [1, 0, 0]);
    assert!(is(network.of(1)[0], 10.0) && is(network.of(2)[0], 10.0), "{:?}", network.rates);
    network.ask(0, 1, Ask::Leave);
    network.ask(2, 2, Ask::Leave);
    network.pass(1000, |_| {});
    assert!(network.are_clear());
}

#[test]
fn a_limit_may_come_and_go() {
    let mut network = Network::new(protocol("d-slen"), 2, &[(0, 0, 1, 20.0)]);
    network.join(0, 1, 50.0, &[&[0]]);
    network.join(0, 2, f64::INFINITY, &[&[0]]);
    network.pass(500, |_| {});
    assert!(is(network.of(1)[0], 10.0) && is(network.of(2)[0], 10.0), "{:?}", network.rates);
    network.set_capacity(0, f64::INFINITY);
    network.ask(0, 2, Ask::Leave);
    network.pass(500, |_| {});
    assert!(is(network.of(1)[0], 50.0), "{:?}", network.rates);
    network.set_capacity(0, 20.0);
    network.pass(500, |_| {});
    assert!(is(network.of(1)[0], 20.0), "{:?}", network.rates);
    network.ask(0, 1, Ask::Leave);
    network.pass(500, |_| {});
    assert!(network.are_clear());
    // With no limit anywhere there is nothing to go by.
    network.set_capacity(0, f64::INFINITY);
    network.join(0, 3, f64::INFINITY, &[&[0]]);
    network.pass(500, |_| {});
    assert!(network.refused[&ClientId(3)].contains("no link of a path has a limit"));
}

#[test]
fn a_demand_beyond_any_link_harms_nobody() {
    let mut network = Network::new(protocol("d-slen"), 2, &[(0, 0, 1, 20.0)]);
    network.join(0, 1, 1e9, &[&[0]]);
    network.join(0, 2, f64::INFINITY, &[&[0]]);
    network.pass(500, |_| {});
    assert!(is(network.of(1)[0], 10.0) && is(network.of(2)[0], 10.0), "{:?}", network.rates);
}

/// The first packet of a session at 0 over 1 to 2, as 0 sends it to 1.
fn parcel() -> crate::Parcel {
    let mut network = Network::new(protocol("d-slen"), 3, &RING);
    network.pass(50, |_| {});
    network.join(0, 1, f64::INFINITY, &[&[0, 1]]);
    network
        .said
        .iter()
        .rev()
        .find_map(|(_, message)| match message {
            HopMessage::Payload { payload: Payload::Parcel(parcel), .. } => Some(parcel.clone()),
            _ => None,
        })
        .unwrap()
}

/// Agent 1 of a ring of its own, with both neighbours up.
fn alone() -> Agent {
    let mut agent = Network::new(protocol("d-slen"), 3, &RING).into_agent(1);
    for id in [0, 2].map(AgentId) {
        agent.handle(Time(0), Event::Up(id));
        agent.handle(Time(0), Event::Hop(id, hello(9)));
    }
    agent.actions().for_each(drop);
    agent
}

/// What the agent passes on of a packet from a neighbour.
fn passed(agent: &mut Agent, from: u32, parcel: crate::Parcel) -> Vec<(AgentId, crate::Parcel)> {
    let message = HopMessage::Payload { number: 0, payload: Payload::Parcel(parcel) };
    agent.handle(Time(1), Event::Hop(AgentId(from), message));
    let parcels = agent.actions().filter_map(|action| match action {
        Action::Hop(to, HopMessage::Payload { payload: Payload::Parcel(parcel), .. }) => Some((to, parcel)),
        _ => None,
    });
    parcels.collect()
}

#[test]
fn a_packet_that_comes_from_elsewhere_than_its_path_is_not_counted() {
    let good = parcel();
    assert_eq!(passed(&mut alone(), 0, good.clone()).len(), 1);
    let mut agent = alone();
    assert!(passed(&mut agent, 2, good).is_empty(), "2 cannot speak for 0");
    assert_eq!((agent.counts().lost, agent.counts().counted), (1, 0));
}

#[test]
fn a_neighbour_takes_no_more_away_than_it_has_brought() {
    for from in [0, 2] {
        // A session of its own neighbour over link 1, or over link 3, is counted.
        let mut agent = alone();
        let good = parcel();
        assert_eq!(passed(&mut agent, 0, good.clone()).len(), 1);
        // Then a neighbour takes away a session of ten times the portion: another's, or its own.
        let mut leave = good;
        let Fields::DSlen(probe) = &mut leave.fields else { panic!("it is of d-SLEN") };
        (probe.portion.old, probe.portion.new, probe.rate.old, probe.is_leave) = (10.0, 0.0, 1e6, true);
        (leave.client, leave.wants_reply) = (ClientId(2), false);
        if from == 2 {
            leave.steps = vec![crate::Step { agent: AgentId(2), link: 4 }, crate::Step { agent: AgentId(1), link: 1 }];
        }
        let message = HopMessage::Payload { number: u64::from(from == 0), payload: Payload::Parcel(leave) };
        agent.handle(Time(2), Event::Hop(AgentId(from), message));
        assert_eq!((agent.counts().counted, agent.counts().refused), (1, 1), "from {from}");
    }
}

#[test]
fn a_session_cannot_grow_beyond_what_its_neighbour_may_claim() {
    let mut network = Network::new(protocol("d-slen"), 3, &RING);
    network.claims = 2.0;
    network.restart(1);
    let mut agent = network.into_agent(1);
    for id in [0, 2].map(AgentId) {
        agent.handle(Time(0), Event::Up(id));
        agent.handle(Time(0), Event::Hop(id, hello(9)));
    }
    agent.actions().for_each(drop);
    let first = parcel();
    assert_eq!(passed(&mut agent, 0, first.clone()).len(), 1);
    assert!((agent.view().links[0].claims - 1.0).abs() < 1e-9);
    // Under another number, so that it is not a packet that is on its way already; it grows from 1 to 500.
    let mut grown = first;
    let Fields::DSlen(probe) = &mut grown.fields else { panic!("it is of d-SLEN") };
    (probe.portion.old, probe.portion.new, probe.rate.old) = (1.0, 500.0, probe.rate.new);
    grown.client = ClientId(2);
    let message = HopMessage::Payload { number: 1, payload: Payload::Parcel(grown) };
    agent.handle(Time(2), Event::Hop(AgentId(0), message));
    assert_eq!(agent.counts().refused, 1);
    // What was counted of it before is forgotten.
    assert!(agent.view().links.is_empty(), "{:?}", agent.view());
}

#[test]
fn a_link_counts_no_more_sessions_of_a_neighbour_than_it_may() {
    for name in ["d-slen", "slbn"] {
        let mut network = Network::new(protocol(name), 3, &RING);
        network.claims = 2.0;
        network.restart(1);
        network.pass(1000, |_| {});
        for client in 1..=3 {
            network.join(0, client, f64::INFINITY, &[&[0, 1]]);
            network.pass(500, |_| {});
        }
        network.join(1, 4, f64::INFINITY, &[&[1]]);
        network.pass(1000, |_| {});
        // The third is not counted, and waits; the agent's own sessions have a part of their own.
        let rates = [1, 2, 3, 4].map(|client| network.of(client)[0]);
        assert!(
            rates.iter().zip([20.0 / 3.0, 20.0 / 3.0, 0.0, 20.0 / 3.0]).all(|(rate, wanted)| is(*rate, wanted)),
            "{name}: {rates:?}"
        );
        network.ask(0, 1, Ask::Leave);
        // It tries again after 5 s.
        network.pass(6000, |_| {});
        assert!(is(network.of(3)[0], 20.0 / 3.0), "{name}: {:?}", network.rates);
        for (agent, client) in [(0, 2), (0, 3), (1, 4)] {
            network.ask(agent, client, Ask::Leave);
        }
        network.pass(500, |_| {});
        assert!(network.are_clear());
    }
}

#[test]
fn what_others_could_not_read_is_not_passed_on() {
    // No portion at a link that is empty: 0 times infinity.
    let mut bad = parcel();
    let Fields::DSlen(probe) = &mut bad.fields else { panic!("it is of d-SLEN") };
    (probe.portion.new, probe.rate.new, probe.level) = (0.0, 0.0, f64::INFINITY);
    for (_, parcel) in passed(&mut alone(), 0, bad) {
        assert!(parcel.are_fields_sound(), "{parcel:?}");
    }
}

#[test]
fn a_reply_that_is_not_of_the_path_is_ignored() {
    let mut network = Network::new(protocol("d-slen"), 3, &RING);
    network.pass(50, |_| {});
    network.join(0, 1, f64::INFINITY, &[&[0, 1]]);
    let mut forged = parcel();
    forged.is_returning = true;
    (forged.steps, forged.end, forged.at) = (vec![crate::Step { agent: AgentId(0), link: 5 }], AgentId(2), 0);
    let number = network.heard_from(0, 2);
    network.forge(0, 2, HopMessage::Payload { number, payload: Payload::Parcel(forged) });
    assert!(!network.rates.contains_key(&ClientId(1)));
    network.pass(100 + HELD + LATE, |_| {});
    assert!(is(network.of(1)[0], 20.0), "{:?}", network.rates);
}

/// Links both ways along a ring and some chords.
fn random_links(agents: u32, random: &mut ChaCha8Rng) -> Vec<Link> {
    let chords = (0..agents / 2).map(|_| {
        let a = random.random_range(0..agents);
        (a, (a + random.random_range(2..agents - 1)) % agents)
    });
    let cables: Vec<(u32, u32)> =
        (0..agents).map(|a| (a, (a + 1) % agents)).chain(chords.collect::<Vec<_>>()).collect();
    let both = cables.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
    both.enumerate().map(|(number, (a, b))| (number as u32, a, b, f64::from(random.random_range(5..50)))).collect()
}

/// A path without loops from an agent, of up to four links.
fn random_path(from: u32, links: &[Link], random: &mut ChaCha8Rng) -> Vec<u32> {
    let (mut at, mut seen, mut path) = (from, vec![from], Vec::new());
    for _ in 0..random.random_range(1..=4) {
        let ways: Vec<&Link> = links.iter().filter(|link| link.1 == at && !seen.contains(&link.2)).collect();
        let Some(link) = ways.choose(random) else { break };
        path.push(link.0);
        at = link.2;
        seen.push(at);
    }
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::tests::cases(24)))]

    /// Whatever happened to agents and connections, in the end rates are those of a network in which nothing did.
    #[test]
    fn trouble_leaves_no_trace(seed in any::<u64>(), is_slbn in any::<bool>()) {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let protocol = protocol(if is_slbn { "slbn" } else { "d-slen" });
        let agents = random.random_range(4..8);
        let links = random_links(agents, random);
        let mut network = Network::new(protocol.clone(), agents, &links);
        let sessions: Vec<(u32, Vec<u32>)> = (0..8).map(|_| {
            let from = random.random_range(0..agents);
            (from, random_path(from, &links, random))
        }).collect();
        for (client, (from, path)) in sessions.iter().enumerate() {
            network.join(*from, client as u64, f64::INFINITY, &[path]);
        }
        let pairs: Vec<_> = network.pairs().into_iter().collect();
        let mut parted = BTreeSet::new();
        for _ in 0..12 {
            network.pass(random.random_range(1..80), |_| {});
            let pair = *pairs.choose(random).unwrap();
            match random.random_range(0..4) {
                0 => network.restart(random.random_range(0..agents)),
                1 => {
                    network.part(pair.0.0, pair.1.0);
                    parted.insert(pair);
                    network.pass(random.random_range(1..800), |_| {});
                }
                _ => network.cut(pair),
            }
        }
        for (a, b) in parted {
            network.mend(a.0, b.0);
        }
        // The last three leave.
        for (client, (from, _)) in sessions.iter().enumerate().skip(5) {
            network.ask(*from, client as u64, Ask::Leave);
        }
        // Neighbours with many faults are held off for half a minute at most.
        network.pass(40_000, |_| {});

        for agent in 0..agents {
            let counts = network.agent(agent).counts();
            prop_assert_eq!(counts.false_messages, 0, "nobody lies: {:?}", counts);
        }
        let mut quiet = Network::new(protocol, agents, &links);
        for (client, (from, path)) in sessions.iter().enumerate().take(5) {
            quiet.join(*from, client as u64, f64::INFINITY, &[path]);
        }
        quiet.pass(6000, |_| {});
        for client in 0..5 {
            prop_assert!((network.of(client)[0] - quiet.of(client)[0]).abs() < 1e-3, "{:?}, not {:?}", network.rates, quiet.rates);
        }
        for (client, (from, _)) in sessions.iter().enumerate().take(5) {
            network.ask(*from, client as u64, Ask::Leave);
        }
        network.pass(LEASE.0 / MILLISECOND, |_| {});
        prop_assert!(network.are_clear(), "something stays behind");
    }
}
