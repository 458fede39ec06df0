//! Neighbours that send much: what it costs is bounded, and the others do not pay for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use anabranch_core::{Span, Time};
use anabranch_proto::Protocol;
use anabranch_proto::protocols::d_slen::{Change, Probe};

use proptest::prelude::*;

use super::middle::Middle;
use super::network::{Link, Network, hello};
use crate::hop::WINDOW;
use crate::message::{Fate, HopMessage, LinkNews, Payload, Stamp, Unheard};
use crate::{Action, AgentId, Answer, Ask, ClientId, Event, Fields, NeighbourState, Parcel, Proofs, Step};

fn news(agent: u32, link: u32, round: u32, capacity: f64) -> Payload {
    let stamp = Stamp { epoch: 9, round };
    Payload::Link(LinkNews { agent: AgentId(agent), link, stamp, capacity, proof: Vec::new() })
}

fn are_links(payloads: &[Payload]) -> usize {
    payloads.iter().filter(|payload| matches!(payload, Payload::Link(_))).count()
}

#[test]
fn news_of_a_link_that_is_not_of_the_network_are_ignored() {
    let known: BTreeSet<_> = [(AgentId(0), 5), (AgentId(1), 10), (AgentId(1), 12)].into();
    let mut middle = Middle::new(|settings| settings.known = Some(Arc::new(known)));
    middle.connect(0);
    middle.connect(2);
    for link in 0..100 {
        middle.says(0, news(0, link, 1, 1e6));
    }
    let told = middle.told(2);
    assert!(matches!(&told[..], [Payload::Link(news)] if news.link == 5), "{told:?}");
    assert_eq!(middle.agent.counts().false_messages, 0, "a neighbour may know a newer network");
}

#[test]
fn a_neighbour_that_comes_is_told_no_more_at_once_than_a_connection_takes() {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    let links = 3 * WINDOW;
    for link in 0..links {
        middle.says(0, news(0, link as u32, 1, 1e6));
    }
    let mut told = middle.connect(2);
    assert_eq!(told.len(), WINDOW);
    // Nothing was acknowledged, so another connection hands out the same messages.
    middle.agent.handle(middle.now, Event::Down(AgentId(2)));
    middle.agent.handle(middle.now, Event::Up(AgentId(2)));
    middle.agent.handle(middle.now, Event::Hop(AgentId(2), hello(9)));
    assert_eq!(middle.told(2), told);
    loop {
        let more = middle.hears(2, told.len() as u64);
        assert!(more.len() <= WINDOW, "{}", more.len());
        if more.is_empty() {
            break;
        }
        told.extend(more);
    }
    // The links of the agent itself, too, and each once.
    assert_eq!((are_links(&told), told.len()), (links + 2, links + 2));
    let all: BTreeSet<_> = told.iter().map(|payload| format!("{payload:?}")).collect();
    assert_eq!(all.len(), told.len());
    assert_eq!(middle.agent.counts().given_up, 0);
}

#[test]
fn news_of_a_link_pass_once_a_second_and_the_last_are_told() {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    middle.connect(2);
    let mut told = Vec::new();
    // 3 s with a change every 250 ms: 4 a second, of which one passes.
    for change in 1..=12 {
        middle.says(0, news(0, 5, change, f64::from(change)));
        told.extend(middle.told(2));
        middle.now = middle.now + Span::ms(250);
        middle.agent.on_time(middle.now);
        told.extend(middle.told(2));
    }
    let capacities: Vec<f64> = told
        .iter()
        .map(|payload| match payload {
            Payload::Link(news) => news.capacity,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(capacities, [1.0, 4.0, 8.0, 12.0]);
    assert_eq!(middle.agent.counts().given_up, 0, "it is not much");
}

#[test]
fn a_neighbour_that_floods_with_news_of_a_link_is_held_off() {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    middle.connect(2);
    for change in 1..=100 {
        middle.says(0, news(0, 5, change, f64::from(change)));
    }
    let state = |middle: &mut Middle, id: usize| middle.agent.view().neighbours[id].state;
    assert_eq!([state(&mut middle, 0), state(&mut middle, 1)], [NeighbourState::HeldOff, NeighbourState::Up]);
}

#[test]
fn news_of_a_thousand_links_at_once_are_no_flood() {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    // A hop that was away brings the news of some seconds at once.
    for change in 1..=5 {
        for link in 0..1000 {
            middle.says(0, news(0, link, change, f64::from(change)));
        }
    }
    assert_eq!(middle.agent.counts().given_up, 0);
    middle.now = middle.now + Span::s(1);
    middle.agent.on_time(middle.now);
    let told = middle.connect(2);
    assert!(
        told.iter()
            .all(|payload| !matches!(payload, Payload::Link(news) if news.agent == AgentId(0) && news.capacity < 5.0))
    );
    assert_eq!(are_links(&told), 1002);
}

/// The first packet of a session at 0 over 1 to 2, as 0 sends it to 1.
fn parcel(client: u64) -> Parcel {
    let probe = Probe {
        portion: Change { old: 0.0, new: 1.0 },
        rate: Change::default(),
        bottlenecks: anabranch_proto::Positions::default(),
        level: f64::INFINITY,
        setter: u8::MAX,
        reserved: 0.0,
        is_leave: false,
        round: 0,
    };
    Parcel {
        client: ClientId(client),
        joining: 1,
        path: 0,
        protocol: 0,
        steps: vec![Step { agent: AgentId(0), link: 0 }, Step { agent: AgentId(1), link: 12 }],
        end: AgentId(2),
        before: 0,
        at: 0,
        is_returning: false,
        reach: 2,
        wants_reply: true,
        generation: 0,
        fate: Fate::Counted,
        ceiling: f64::INFINITY,
        fields: Fields::DSlen(probe),
    }
}

fn parcels(payloads: Vec<Payload>) -> Vec<Parcel> {
    let parcel = |payload| if let Payload::Parcel(parcel) = payload { Some(parcel) } else { None };
    payloads.into_iter().filter_map(parcel).collect()
}

#[test]
fn a_neighbour_has_no_more_packets_on_their_way_than_it_may() {
    let mut middle = Middle::new(|settings| settings.packets = 100);
    middle.connect(0);
    middle.connect(2);
    for client in 0..110 {
        middle.says(0, Payload::Parcel(parcel(client)));
    }
    let back = parcels(middle.told(0));
    assert_eq!(back.len(), 10);
    assert!(back.iter().all(|parcel| parcel.is_returning && parcel.fate == Fate::Refused && parcel.reach == 1));
    assert_eq!(middle.agent.view().in_flight, 100);
    assert_eq!((middle.agent.counts().false_messages, middle.agent.counts().given_up), (0, 0), "it may be honest");
    // Sessions of the agent itself have packets of their own.
    let paths = vec![(vec![Step { agent: AgentId(1), link: 12 }], AgentId(2))];
    let join = Ask::Join { protocol: 0, claim: 1.0, reserved: 0.0, demand: f64::INFINITY, paths };
    middle.agent.handle(middle.now, Event::Ask(ClientId(1), join));
    assert_eq!(parcels(middle.told(2)).len(), 1);
}

#[test]
fn a_session_that_is_refused_later_is_forgotten_by_all_links() {
    let mut middle = Middle::new(|settings| settings.packets = 2);
    middle.connect(0);
    middle.connect(2);
    middle.says(0, Payload::Parcel(parcel(1)));
    let mut back = parcels(middle.told(2)).remove(0);
    back.is_returning = true;
    middle.says(2, Payload::Parcel(back.clone()));
    let second = parcels(middle.told(0)).remove(0);
    assert!((middle.agent.view().links[0].claims - 1.0).abs() < 1e-9);
    // Two others are on their way when its next packet comes.
    middle.says(0, Payload::Parcel(parcel(2)));
    middle.says(0, Payload::Parcel(parcel(3)));
    let Fields::DSlen(mut probe) = second.fields else { panic!("it is of d-SLEN") };
    (probe.portion.old, probe.rate.old) = (probe.portion.new, probe.rate.new);
    let next = Parcel { at: 0, is_returning: false, fields: Fields::DSlen(probe), ..second };
    middle.told(2);
    middle.says(0, Payload::Parcel(next));
    let mut told = Vec::new();
    for action in middle.agent.actions() {
        if let Action::Hop(to, HopMessage::Payload { payload: Payload::Parcel(parcel), .. }) = action {
            told.push((to.0, parcel));
        }
    }
    let [(2, leave), (0, refused)] = &told[..] else { panic!("{told:?}") };
    let Fields::DSlen(last) = leave.fields else { panic!("it is of d-SLEN") };
    assert!(!leave.wants_reply && last.is_leave && (last.portion.old - probe.portion.old).abs() < 1e-12);
    assert!(refused.fate == Fate::Refused && refused.reach == 1);
    assert!((middle.agent.view().links[0].claims - 2.0).abs() < 1e-9);
}

#[test]
fn packets_of_a_neighbour_wait_for_those_of_others_and_not_the_others_for_them() {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    middle.connect(2);
    middle.hears(2, 2);
    for client in 0..4 * WINDOW as u64 {
        middle.says(0, Payload::Parcel(parcel(client)));
    }
    assert_eq!(middle.told(2).len(), WINDOW);
    let paths = vec![(vec![Step { agent: AgentId(1), link: 12 }], AgentId(2))];
    let join = Ask::Join { protocol: 0, claim: 1.0, reserved: 0.0, demand: f64::INFINITY, paths };
    middle.agent.handle(middle.now, Event::Ask(ClientId(1), join));
    // Thrice as many of the neighbour came before.
    let told = parcels(middle.hears(2, 2 + 10));
    assert_eq!(told.len(), 10);
    assert!(told[..2].iter().any(|parcel| parcel.steps[0].agent == AgentId(1)), "{told:?}");
}

#[test]
fn a_packet_crosses_a_node_once() {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    middle.connect(2);
    let mut round = parcel(1);
    round.steps.extend([Step { agent: AgentId(2), link: 0 }, Step { agent: AgentId(1), link: 12 }]);
    middle.says(0, Payload::Parcel(round));
    assert!(matches!(&parcels(middle.told(0))[..], [parcel] if parcel.fate == Fate::Lost));
}

#[test]
fn packets_without_a_reply_that_take_nothing_away_are_not_passed_on() {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    middle.connect(2);
    middle.says(0, Payload::Parcel(Parcel { wants_reply: false, ..parcel(1) }));
    assert!(parcels(middle.told(2)).is_empty());
    assert_eq!((middle.agent.is_clear(), middle.agent.counts().false_messages), (true, 0));
}

#[test]
fn who_is_nearer_to_a_packet_that_does_not_come_back_answers_first_and_in_time() {
    let mut deadlines = Vec::new();
    for links in 2..=64 {
        let mut middle = Middle::new(|_| ());
        middle.connect(0);
        middle.connect(2);
        let mut long = parcel(1);
        long.steps.extend((2..links).map(|link| Step { agent: AgentId(link), link }));
        (long.end, long.reach) = (AgentId(links), links as u8);
        middle.says(0, Payload::Parcel(long));
        assert_eq!(middle.agent.view().in_flight, 1);
        deadlines.push(middle.agent.next_at().unwrap().seconds());
    }
    assert!((deadlines[0] - 10.0).abs() < 1e-9 && deadlines[62] < 140.0, "{deadlines:?}");
    // A hop may be away for a second without harm.
    assert!(deadlines.windows(2).all(|pair| pair[1] - pair[0] > 1.5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::tests::cases(24)))]

    /// Honest agents with many sessions are refused some, are not accused, and leave nothing behind.
    #[test]
    fn refusals_leave_no_trace(seed in any::<u64>(), is_slbn in any::<bool>(), packets in 1..8usize) {
        let protocol = Protocol::named(if is_slbn { "slbn" } else { "d-slen" }).unwrap();
        let links: Vec<Link> =
            (0..4).flat_map(|a| [(2 * a, a, (a + 1) % 4, 20.0), (2 * a + 1, (a + 1) % 4, a, 20.0)]).collect();
        let mut network = Network::new(protocol, 4, &links);
        network.seed(seed);
        network.packets = packets;
        (0..4).for_each(|agent| network.restart(agent));
        network.pass(2000, |_| {});
        // Ten at each, over the next two or three links.
        for client in 0..40u32 {
            let from = client % 4;
            let path: Vec<u32> = (0..2 + client / 4 % 2).map(|step| 2 * ((from + step) % 4)).collect();
            network.join(from, client.into(), f64::INFINITY, &[&path]);
            network.pass(u64::from(client % 3), |_| {});
        }
        network.pass(30_000, |_| {});
        for client in 0..40 {
            network.ask(client % 4, client.into(), Ask::Leave);
        }
        network.pass(2000, |_| {});
        prop_assert!(network.are_clear(), "something stays behind");
        let counts: Vec<_> = (0..4).map(|agent| network.agent(agent).counts()).collect();
        prop_assert!(counts.iter().any(|counts| counts.refused > 0), "{counts:?}");
        prop_assert!(counts.iter().all(|counts| counts.false_messages == 0 && counts.overdue == 0), "{counts:?}");
    }
}

#[test]
fn what_others_say_of_a_path_ends_no_session() {
    let mut middle = Middle::new(|_| ());
    middle.connect(2);
    let steps = vec![Step { agent: AgentId(1), link: 12 }, Step { agent: AgentId(2), link: 0 }];
    let join = |steps| Ask::Join {
        protocol: 0,
        claim: 1.0,
        reserved: 0.0,
        demand: f64::INFINITY,
        paths: vec![(steps, AgentId(3))],
    };
    middle.agent.handle(middle.now, Event::Ask(ClientId(1), join(steps)));
    let sent = parcels(middle.told(2)).remove(0);
    middle.says(2, Payload::Parcel(Parcel { is_returning: true, fate: Fate::Lost, reach: 1, ..sent }));
    assert!(
        middle.agent.actions().all(|action| !matches!(action, Action::Tell(_, Answer::Refused { .. } | Answer::Left)))
    );
    // It tries again after 5 s.
    middle.now = Time(0) + Span::ms(1500);
    middle.agent.handle(middle.now, Event::Ask(ClientId(1), Ask::Here));
    middle.now = Time(0) + Span::ms(3000);
    middle.agent.handle(middle.now, Event::Ask(ClientId(1), Ask::Here));
    middle.now = Time(0) + Span::ms(5000);
    middle.agent.on_time(middle.now);
    assert_eq!(parcels(middle.told(2)).len(), 1);
    // An own link that does not exist is no lie.
    middle.agent.handle(middle.now, Event::Ask(ClientId(2), join(vec![Step { agent: AgentId(1), link: 99 }])));
    let refusals: Vec<_> = middle.agent.actions().collect();
    assert!(refusals.iter().any(|action| matches!(action, Action::Tell(_, Answer::Refused { is_lasting: true, .. }))));
}

/// Proofs that are good, of epochs up to 100.
#[derive(Debug)]
struct UpTo100;

impl Proofs for UpTo100 {
    fn prove(&self, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn check(&self, _: AgentId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn is_timely(&self, epoch: u64, _: &[u8]) -> bool {
        epoch <= 100
    }
}

#[test]
fn news_of_an_epoch_that_cannot_be_are_not_passed_on_and_nobody_is_accused() {
    let mut middle = Middle::new(|settings| settings.proofs = Arc::new(UpTo100));
    middle.connect(0);
    middle.connect(2);
    for epoch in [101, 100, u64::MAX] {
        let stamp = Stamp { epoch, round: 1 };
        middle.says(0, Payload::Renewal { agent: AgentId(5), stamp, proof: Vec::new() });
        let news = LinkNews { agent: AgentId(5), link: 1, stamp, capacity: 1e6, proof: Vec::new() };
        middle.says(0, Payload::Link(news));
        let news = Unheard { agent: AgentId(5), stamp, rest_ms: 9, late_ms: 0, proof: Vec::new() };
        middle.says(0, Payload::Unheard(news));
    }
    let told = middle.told(2);
    let is_timely = |payload: &Payload| match payload {
        Payload::Renewal { stamp, .. }
        | Payload::Link(LinkNews { stamp, .. })
        | Payload::Unheard(Unheard { stamp, .. }) => stamp.epoch == 100,
        Payload::Parcel(_) => false,
    };
    assert!(told.len() == 3 && told.iter().all(is_timely), "{told:?}");
    assert_eq!((middle.agent.counts().false_messages, middle.agent.counts().given_up), (0, 0));
}
