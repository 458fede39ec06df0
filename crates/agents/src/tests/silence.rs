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

fn unheard(agent: u32, round: u32, rest_ms: u16, late_ms: u16) -> Payload {
    let (agent, stamp) = (AgentId(agent), Stamp { epoch: 9, round });
    Payload::Unheard(Unheard { agent, stamp, rest_ms, late_ms, proof: Vec::new() })
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
fn neighbours_that_go_silent_within_a_quarter_of_a_second_are_told_together_and_later_ones_on_their_own() {
    let mut middle = Middle::with(&[0, 2, 3, 4], |_| ());
    for id in [0, 2, 3, 4] {
        middle.connect(id);
    }
    middle.pass(1000, 2);
    for (id, since) in [(0, 700), (3, 900), (4, 1000)] {
        middle.agent.handle(middle.now, Event::Silent(AgentId(id), Time(0) + Span::ms(since)));
    }
    // At 1200 ms, of the neighbours that were heard last at 700 and 900 ms; at 1500 ms of the third.
    assert_eq!(rests(&middle.pass(200, 2)), [1350]);
    assert!(rests(&middle.pass(299, 2)).is_empty());
    assert_eq!(rests(&middle.pass(1, 2)), [1150]);
}

#[test]
fn a_neighbour_that_is_given_up_at_once_is_told_as_well() {
    let mut middle = middle();
    let renew = |middle: &mut Middle, rounds: std::ops::Range<u32>| {
        for round in rounds {
            let stamp = Stamp { epoch: 9, round };
            middle.says(0, Payload::Renewal { agent: AgentId(0), stamp, proof: Vec::new() });
        }
        rests(&middle.pass(1, 2))
    };
    assert!(renew(&mut middle, 1..20).is_empty());
    assert_eq!(renew(&mut middle, 20..22), [1650]);
    assert_eq!(state(&mut middle, 0), NeighbourState::HeldOff);
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
fn news_of_an_agent_are_told_on_two_at_once_and_then_twice_a_second() {
    let mut middle = middle();
    let mut say = |round, ms| {
        middle.says(0, unheard(5, round, 3000, 0));
        rests(&middle.pass(ms, 2))
    };
    assert_eq!((say(1, 10), say(2, 10), say(3, 10)), (vec![3000], vec![3000], vec![]));
    // The last half a second after the first.
    assert_eq!((say(4, 469), rests(&middle.pass(1, 2))), (vec![], vec![3000 - 470]));
}

#[test]
fn a_neighbour_that_says_more_news_than_an_agent_can_send_is_held_off() {
    let mut middle = middle();
    let mut told = Vec::new();
    for round in 1..=100 {
        middle.says(0, unheard(5, round, 1000, 0));
        told.extend(middle.pass(10, 2));
    }
    assert_eq!(state(&mut middle, 0), NeighbourState::HeldOff);
    assert!(rests(&told).len() <= 5, "{told:?}");
}

#[test]
fn no_neighbour_makes_news_say_less_or_more_than_they_do() {
    let mut middle = middle();
    // The first word makes the news later than they are, the second is true, the third is an old one told again.
    middle.says(0, unheard(5, 1, 1500, 1400));
    assert_eq!(rests(&middle.pass(50, 2)), [100]);
    middle.says(2, unheard(5, 1, 1500, 50));
    assert_eq!(rests(&middle.pass(450, 0)), [1450]);
    middle.says(2, unheard(5, 1, 1500, 0));
    assert!(rests(&middle.pass(2000, 0)).is_empty());
}
