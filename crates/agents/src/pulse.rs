//! Signs of life between two neighbours.
//!
//! Each end sends a beat some times a second: its number, and the greatest number heard from the other end. So each end
//! knows when it last sent something that the other has answered, and a hop that works in one direction only is as good
//! as silent. Beats may be lost, and may overtake each other.

use std::collections::VecDeque;

use anabranch_core::{Span, Time, units::MILLISECOND};

/// The most beats of which the times are known.
const MOST_BEATS: usize = 64;

/// Size of a beat in bytes.
const SIZE: usize = 8;

/// The signs of life over one connection.
#[derive(Debug)]
pub struct Pulse {
    /// Number of the last beat sent, and the greatest heard.
    own: u32,
    heard: u32,
    /// The beats sent that are not answered, with their times.
    sent: VecDeque<(u32, Time)>,
    /// When the last thing was sent that the other end has answered.
    alive: Time,
    is_silent: bool,
}

impl Pulse {
    /// Time between two beats.
    pub const BEAT: Span = Span(125 * MILLISECOND);

    /// Time after the last sign of life from which a neighbour counts as silent: some beats.
    pub const SILENCE: Span = Span(500 * MILLISECOND);

    /// The longest round trip for which it waits in addition.
    const MOST_ROUND_TRIP: Span = Span(1000 * MILLISECOND);

    /// The signs of life over a connection on which the other end was heard just now.
    pub fn new(now: Time) -> Self {
        Self { own: 0, heard: 0, sent: VecDeque::new(), alive: now, is_silent: false }
    }

    /// The next beat, which is sent now.
    pub fn beat(&mut self, now: Time) -> [u8; SIZE] {
        self.own = self.own.wrapping_add(1);
        if self.sent.len() == MOST_BEATS {
            self.sent.pop_front();
        }
        self.sent.push_back((self.own, now));
        let mut beat = [0; SIZE];
        beat[..SIZE / 2].copy_from_slice(&self.own.to_le_bytes());
        beat[SIZE / 2..].copy_from_slice(&self.heard.to_le_bytes());
        beat
    }

    /// Handles a beat of the other end; anything else is ignored.
    pub fn hear(&mut self, beat: &[u8]) {
        let Ok(beat) = <[u8; SIZE]>::try_from(beat) else { return };
        let [own, heard] = [&beat[..SIZE / 2], &beat[SIZE / 2..]].map(|half| {
            let mut number = [0; SIZE / 2];
            number.copy_from_slice(half);
            u32::from_le_bytes(number)
        });
        self.heard = self.heard.max(own);
        while let Some((_, time)) = self.sent.pop_front_if(|(number, _)| *number <= heard) {
            self.alive = time;
        }
    }

    /// The last sign of life over a round trip: a round trip after the last thing was sent that the other end has answered.
    /// Both ends of a hop have about the same.
    pub fn alive(&self, round_trip: Span) -> Time {
        self.alive + round_trip.min(Self::MOST_ROUND_TRIP)
    }

    /// Whether the other end, over a round trip, has become silent since this was last asked (`true`), or is heard again.
    pub fn change(&mut self, now: Time, round_trip: Span) -> Option<bool> {
        let is_silent = self.alive(round_trip) + Self::SILENCE <= now;
        (std::mem::replace(&mut self.is_silent, is_silent) != is_silent).then_some(is_silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Span = Span(0);

    fn ms(ms: u64) -> Time {
        Time(0) + Span::ms(ms)
    }

    #[test]
    fn an_end_is_alive_as_of_the_last_beat_that_it_answered() {
        let (mut one, mut other) = (Pulse::new(ms(0)), Pulse::new(ms(0)));
        other.hear(&one.beat(ms(100)));
        one.hear(&other.beat(ms(200)));
        assert_eq!((one.alive(AT_ONCE), other.alive(AT_ONCE)), (ms(100), ms(0)));
        // Beats that get lost are answered by none; a late one and a false one say nothing.
        let late = other.beat(ms(210));
        one.beat(ms(225));
        other.hear(&one.beat(ms(350)));
        one.hear(&other.beat(ms(400)));
        one.hear(&late);
        one.hear(b"beat");
        assert_eq!(one.alive(AT_ONCE), ms(350));
        assert_eq!([849, 850, 860].map(|at| one.change(ms(at), AT_ONCE)), [None, Some(true), None]);
    }

    #[test]
    fn both_ends_of_a_hop_that_works_in_one_direction_only_find_it_silent() {
        let (mut one, mut other) = (Pulse::new(ms(0)), Pulse::new(ms(0)));
        for at in (0..3000).step_by(125) {
            let (there, back) = (one.beat(ms(at)), other.beat(ms(at)));
            if at < 1000 {
                other.hear(&there);
            }
            one.hear(&back);
        }
        assert!(one.alive(AT_ONCE) <= ms(1000) && other.alive(AT_ONCE) <= ms(1000));
        assert!(one.alive(AT_ONCE) >= ms(750) && other.alive(AT_ONCE) >= ms(750), "{one:?} {other:?}");
    }

    #[test]
    fn a_long_round_trip_is_no_silence_and_both_ends_hear_each_other_last_at_about_the_same_time() {
        for round_trip in [2, 200, 400, 700, 1000] {
            let mut ends = [Pulse::new(ms(0)), Pulse::new(ms(0))];
            let mut on_their_way: Vec<(u64, usize, [u8; SIZE])> = Vec::new();
            let mut silent = [None; 2];
            for now in 0..8000 {
                for (end, pulse) in ends.iter_mut().enumerate() {
                    if now % 125 == 40 * end as u64 {
                        let beat = pulse.beat(ms(now));
                        // From 3000 ms on nothing arrives at the second.
                        if end == 1 || now < 3000 {
                            on_their_way.push((now + round_trip / 2, 1 - end, beat));
                        }
                    }
                    on_their_way.retain(|(at, to, beat)| {
                        let is_here = (*at, *to) == (now, end);
                        if is_here {
                            pulse.hear(beat);
                        }
                        !is_here
                    });
                    if let Some(is_silent) = pulse.change(ms(now), Span::ms(round_trip)) {
                        assert!(is_silent && silent[end].is_none() && now > 3000, "{end} at {now}: {is_silent}");
                        silent[end] = Some(pulse.alive(Span::ms(round_trip)));
                    }
                }
            }
            let [one, other] = silent.map(|time| time.unwrap().0);
            assert!(one.abs_diff(other) <= Span::ms(125 + round_trip / 2).0, "{round_trip}: {one} {other}");
            assert!((ms(2700).0..=ms(3000 + round_trip).0).contains(&one), "{round_trip}: {one}");
        }
    }
}
