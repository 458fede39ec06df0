//! Neighbours that are silent: all agents hear of them, before they are given up.

use anabranch_core::{Span, Time};

use super::middle::Middle;
use crate::message::{Payload, Stamp, Unheard};
use crate::{AgentId, Event, NeighbourState};

/// The middle with both neighbours, a second after its start.
fn middle() -> Middle {
    let mut middle = Middle::new(|_| ());
    middle.connect(0);
    middle.connect(2);
    middle.pass(1000, 2);
    middle
}

/// The times for which sources may hold rates, in milliseconds, as the news among these say.
fn rests(payloads: &[Payload]) -> Vec<u16> {
    payloads
        .iter()
        .filter_map(
            |payload| if let Payload::Unheard(news) = payload { Some(news.rest_ms - news.late_ms) } else { None },
        )
        .collect()
}

fn unheard(agent: u32, round: u32, rest_ms: u16) -> Payload {
    Payload::Unheard(Unheard {
        agent: AgentId(agent),
        stamp: Stamp { epoch: 9, round },
        rest_ms,
        late_ms: 0,
        proof: Vec::new(),
    })
}

fn state(middle: &mut Middle, id: u32) -> NeighbourState {
    middle.agent.view().neighbours.into_iter().find(|view| view.id == AgentId(id)).unwrap().state
}

#[test]
fn all_hear_of_a_silent_neighbour_after_half_a_second_and_it_is_given_up_after_five_quarters() {
    let mut middle = middle();
    // The last sign of life came at 900 ms.
    middle.agent.handle(middle.now, Event::Silent(AgentId(0), Time(0) + Span::ms(900)));
    assert_eq!(middle.pass(399, 2), []);
    // At 1400 ms: it is given up at 2150 ms, and its sources stop 400 ms later at most.
    assert_eq!(rests(&middle.pass(1, 2)), [1150]);
    assert_eq!((middle.pass(749, 2), state(&mut middle, 0)), (Vec::new(), NeighbourState::Up));
    assert!(middle.pass(1, 2).iter().any(|payload| matches!(payload, Payload::Renewal { .. })));
    assert_eq!(state(&mut middle, 0), NeighbourState::GivenUp);
}

#[test]
fn nobody_hears_of_a_neighbour_that_is_back_soon() {
    let mut middle = middle();
    middle.agent.handle(middle.now, Event::Silent(AgentId(0), Time(0) + Span::ms(900)));
    middle.pass(300, 2);
    middle.agent.handle(middle.now, Event::Alive(AgentId(0)));
    middle.agent.handle(middle.now, Event::Down(AgentId(0)));
    middle.pass(300, 2);
    middle.connect(0);
    assert_eq!((middle.pass(5000, 2), middle.agent.counts().given_up), (Vec::new(), 0));
}

#[test]
fn two_neighbours_that_go_silent_one_after_the_other_are_told_one_after_the_other() {
    let mut middle = middle();
    for (id, since) in [(0, 800), (2, 900)] {
        middle.agent.handle(middle.now, Event::Silent(AgentId(id), Time(0) + Span::ms(since)));
    }
    middle.pass(300, 2);
    // The second at 1900 ms: news of an agent pass each 600 ms.
    assert!(rests(&middle.pass(599, 2)).is_empty());
    assert_eq!(rests(&middle.pass(1, 2)), [650]);
}

#[test]
fn an_agent_that_has_run_before_says_that_nobody_hears_its_sources() {
    let mut middle = Middle::new(|settings| settings.has_run = true);
    assert_eq!(rests(&middle.connect(0)), [2000]);
    // Who comes later hears of it as long as it is so, and of what has passed.
    middle.pass(1500, 0);
    assert_eq!(rests(&middle.connect(2)), [500]);
}

#[test]
fn news_of_an_agent_are_told_on_three_times_a_second_and_who_says_more_is_held_off() {
    let mut middle = middle();
    let mut told = Vec::new();
    for round in 1..=100 {
        middle.says(0, unheard(0, round, u16::MAX));
        told.extend(middle.pass(10, 2));
    }
    assert_eq!(rests(&told), [u16::MAX; 3]);
    // A tenth of a fault each: it is held off before a fourth passes.
    assert_eq!(state(&mut middle, 0), NeighbourState::HeldOff);
}
