//! Messages to an agent: what is read is written and read again as the same, and none brings the agent down or makes it say
//! what others cannot read.
#![no_main]

use anabranch_agents::message::{decode, encode};
use anabranch_agents::{Action, Agent, AgentId, Answer, Ask, ClientId, Event, HopMessage, LinkSettings, Settings};
use anabranch_core::{Rate, Span, Time};
use anabranch_proto::Protocol;
use libfuzzer_sys::fuzz_target;

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

fuzz_target!(|bodies: Vec<Vec<u8>>| {
    let mut agent = agent();
    for id in [0, 2].map(AgentId) {
        agent.handle(Time(0), Event::Up(id));
    }
    for (number, body) in bodies.iter().enumerate() {
        let now = Time(number as u64);
        if let Ok(message) = decode::<HopMessage>(body) {
            let again = encode(&message).map(|bytes| decode(&bytes[2..]));
            assert!(!matches!(again, Ok(read) if read != Ok(message.clone())));
            agent.handle(now, Event::Hop(AgentId(2 * (number as u32 % 2)), message));
        }
        if let Ok(ask) = decode::<Ask>(body) {
            agent.handle(now, Event::Ask(ClientId(number as u64 % 3), ask));
        }
        let _ = decode::<Answer>(body);
        agent.on_time(now);
        for action in agent.actions() {
            if let Action::Hop(_, message) = action
                && let Ok(bytes) = encode(&message)
            {
                assert!(decode::<HopMessage>(&bytes[2..]).is_ok());
            }
        }
    }
});
