//! Whatever bytes come, they are a message within the limits or an error, and no message brings an agent down.

use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;
use proptest::prelude::*;

use super::network::hello;
use crate::message::{Message, decode, encode, length};
use crate::{
    Agent, AgentId, Answer, Ask, ClientId, Event, HopMessage, LinkNews, LinkSettings, Payload, Settings, Stamp, Step,
};

fn agent() -> Agent {
    let protocols = ["d-slen", "slbn"].iter().filter_map(|name| Protocol::named(name)).collect();
    Agent::new(
        Time(0),
        Settings {
            links: vec![LinkSettings::new(0, AgentId(2), Rate(1e7))],
            neighbours: vec![AgentId(0), AgentId(2)],
            gap: Span(0),
            lease: Span::us(1),
            clients: 10,
            waiting: 1000,
            reply: Span::us(3),
            ..Settings::new(AgentId(1), 7, protocols)
        },
    )
}

/// A control packet of the agent's own, as its neighbour gets it.
fn own_parcel(protocol: u8) -> crate::Parcel {
    let mut agent = agent();
    agent.handle(Time(0), Event::Up(AgentId(2)));
    agent.handle(Time(0), Event::Hop(AgentId(2), hello(3)));
    let paths = vec![(vec![Step { agent: AgentId(1), link: 0 }], AgentId(2))];
    let ask = Ask::Join { protocol, claim: 1.0, reserved: 0.0, demand: 5e6, paths };
    agent.handle(Time(0), Event::Ask(ClientId(1), ask));
    let parcel = agent.actions().find_map(|action| match action {
        crate::Action::Hop(_, HopMessage::Payload { payload: Payload::Parcel(parcel), .. }) => Some(parcel),
        _ => None,
    });
    parcel.expect("a session begins with a packet")
}

fn body(message: &impl Message) -> Vec<u8> {
    let bytes = encode(message).unwrap();
    assert_eq!(length([bytes[0], bytes[1]]), Ok(bytes.len() - 2));
    bytes[2..].to_vec()
}

#[test]
fn messages_read_as_they_are_written() {
    for protocol in [0, 1] {
        let payload = Payload::Parcel(own_parcel(protocol));
        let message = HopMessage::Payload { number: 3, payload };
        assert_eq!(decode::<HopMessage>(&body(&message)), Ok(message));
    }
    let answer = Answer::Granted { rates: vec![1.5e6, 0.0] };
    assert_eq!(decode::<Answer>(&body(&answer)), Ok(answer));
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let good = own_parcel(0);
    let wrongs: [fn(&mut crate::Parcel); 6] = [
        |parcel| parcel.at = 1,
        |parcel| parcel.steps.clear(),
        |parcel| parcel.before = 2,
        |parcel| parcel.ceiling = f64::NAN,
        |parcel| parcel.path = 16,
        |parcel| {
            if let crate::Fields::DSlen(probe) = &mut parcel.fields {
                probe.portion.new = 1e-30;
            }
        },
    ];
    for wrong in wrongs {
        let mut parcel = good.clone();
        wrong(&mut parcel);
        let message = HopMessage::Payload { number: 0, payload: Payload::Parcel(parcel) };
        assert!(decode::<HopMessage>(&body(&message)).is_err());
    }
    for (capacity, is_one) in
        [(0.0, true), (1e15, true), (f64::INFINITY, true), (2e100, false), (f64::NAN, false), (-1.0, false)]
    {
        let (agent, stamp) = (AgentId(1), Stamp::default());
        let news = Payload::Link(LinkNews { agent, link: 1, stamp, capacity, proof: Vec::new() });
        let message = HopMessage::Payload { number: 0, payload: news };
        assert_eq!(decode::<HopMessage>(&body(&message)).is_ok(), is_one, "{capacity}");
    }
    for rate in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(decode::<Answer>(&body(&Answer::Granted { rates: vec![rate] })).is_err());
    }
    let ask = Ask::Join { protocol: 0, claim: 0.0, reserved: 0.0, demand: 1.0, paths: Vec::new() };
    assert!(decode::<Ask>(&body(&ask)).is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode::<HopMessage>(&bytes);
        let _ = decode::<Ask>(&bytes);
        let _ = decode::<Answer>(&bytes);
    }

    /// Packets as agents send them, with some bytes changed: what can still be read does no harm.
    #[test]
    fn no_message_brings_an_agent_down(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..40),
        protocol in 0..2u8,
    ) {
        let mut agent = agent();
        for id in [0, 2].map(AgentId) {
            agent.handle(Time(0), Event::Up(id));
            agent.handle(Time(0), Event::Hop(id, hello(3)));
        }
        // Its own session is that of `own_parcel`, so that replies are for somebody.
        let paths = vec![(vec![Step { agent: AgentId(1), link: 0 }], AgentId(2))];
        agent.handle(Time(0), Event::Ask(ClientId(1), Ask::Join { protocol, claim: 1.0, reserved: 0.0, demand: 5e6, paths }));
        let mut numbers = [0, 0];
        for (place, value, is_back) in changes {
            let mut parcel = own_parcel(protocol);
            parcel.is_returning = is_back;
            let from = usize::from(is_back);
            let number = numbers[from];
            let mut bytes = body(&HopMessage::Payload { number, payload: Payload::Parcel(parcel) });
            // The kind and the number stay.
            let place = 2 + place.index(bytes.len() - 2);
            bytes[place] = value;
            if let Ok(message) = decode::<HopMessage>(&bytes) {
                numbers[from] += 1;
                agent.handle(Time(number), Event::Hop(AgentId([0, 2][from]), message));
            }
            agent.on_time(Time(number));
            for action in agent.actions() {
                if let crate::Action::Hop(_, message) = action {
                    let bytes = body(&message);
                    prop_assert!(decode::<HopMessage>(&bytes).is_ok(), "it says only what others can read: {message:?}");
                }
            }
        }
    }
}
