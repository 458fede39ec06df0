//! How many messages agents handle in a second of one core: `cargo run --release --example sessions -- 10000 d-slen`.
//!
//! Sessions of one agent take two links, over an agent between, to a third. Time is virtual; messages are encoded and
//! decoded as on a connection, and applications say that they are there.

use std::collections::VecDeque;
use std::time::Instant;

use anabranch_agents::message::{Message, decode, encode};
use anabranch_agents::{
    Action, Agent, AgentId, Answer, Ask, ClientId, Event, HopMessage, LinkSettings, Settings, Step,
};
use anabranch_core::{Rate, Span, Time, units::MILLISECOND};
use anabranch_proto::Protocol;

/// Least time between two packets of a path.
const GAP: u64 = 100 * MILLISECOND;

/// Time that a message takes to a neighbour.
const DELAY: u64 = 5 * MILLISECOND;

/// Simulated time.
const END: u64 = 5000 * MILLISECOND;

fn agent(id: u32, protocol: &Protocol, sessions: usize) -> Agent {
    Agent::new(
        Time(0),
        Settings {
            links: if id < 2 { vec![LinkSettings::new(id, AgentId(id + 1), Rate(1e10))] } else { Vec::new() },
            neighbours: [id.checked_sub(1), (id < 2).then_some(id + 1)].into_iter().flatten().map(AgentId).collect(),
            gap: Span(GAP),
            clients: sessions,
            waiting: 1 << 20,
            packets: 1 << 20,
            ..Settings::new(AgentId(id), 1, vec![protocol.clone()])
        },
    )
}

fn again<M: Message>(message: &M) -> M {
    decode(&encode(message).expect("it is short")[2..]).expect("it was encoded")
}

#[derive(Default)]
struct Line {
    agents: Vec<Agent>,
    coming: VecDeque<(u64, AgentId, AgentId, HopMessage)>,
    messages: u64,
    granted: u64,
}

impl Line {
    fn handle(&mut self, now: u64, id: usize, event: Event) {
        self.agents[id].handle(Time(now), event);
        self.obey(now, id);
    }

    fn obey(&mut self, now: u64, id: usize) {
        for action in self.agents[id].actions() {
            match action {
                Action::Hop(to, message) => {
                    self.coming.push_back((now + DELAY, AgentId(id as u32), to, again(&message)));
                    self.messages += 1;
                }
                Action::Tell(_, Answer::Granted { .. }) => self.granted += 1,
                Action::Link(..) | Action::Tell(_, Answer::Paths { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let sessions: usize = words.next().map_or(10_000, |word| word.parse().expect("a number of sessions"));
    let protocol = Protocol::named(words.next().as_deref().unwrap_or("d-slen")).expect("a protocol");
    let mut line = Line { agents: (0..3).map(|id| agent(id, &protocol, sessions)).collect(), ..Line::default() };
    for (own, other) in [(0, 1), (1, 0), (1, 2), (2, 1)] {
        line.handle(0, own, Event::Up(AgentId(other)));
    }
    let steps = (0..2).map(|link| Step { agent: AgentId(link), link }).collect::<Vec<_>>();
    let join =
        Ask::Join { protocol: 0, claim: 1.0, reserved: 0.0, demand: f64::INFINITY, paths: vec![(steps, AgentId(2))] };
    let begun = Instant::now();
    let (mut beat, mut now) = (0, 0);
    let mut joined = 0;
    while now < END {
        let message = line.coming.front().map(|message| message.0);
        let due = (0..3).filter_map(|id| Some((line.agents[id].next_at()?.0.max(now), id))).min();
        now = [message, due.map(|due| due.0), Some(beat)].into_iter().flatten().min().expect("there is a beat");
        if now == beat {
            beat += 500 * MILLISECOND;
            (0..joined).for_each(|client| line.handle(now, 0, Event::Ask(ClientId(client as u64), Ask::Here)));
            // Not all at once: a third of them at a time.
            let more = sessions.div_ceil(3).min(sessions - joined);
            for client in joined..joined + more {
                line.handle(now, 0, Event::Ask(ClientId(client as u64), join.clone()));
            }
            joined += more;
        } else if message == Some(now) {
            let (_, from, to, message) = line.coming.pop_front().expect("it is there");
            line.handle(now, to.0 as usize, Event::Hop(from, message));
        } else if let Some((_, id)) = due {
            line.agents[id].on_time(Time(now));
            line.obey(now, id);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let (messages, granted) = (line.messages, line.granted);
    println!(
        "{sessions} sessions under {}: {messages} messages, {granted} grants in {seconds:.2} s of computing",
        protocol.title()
    );
    println!("{:.0} messages a second", messages as f64 / seconds);
}
