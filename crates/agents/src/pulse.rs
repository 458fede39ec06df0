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
    alive: Time,
    is_silent: bool,
}

impl Pulse {
    /// Time between two beats.
    pub const BEAT: Span = Span(125 * MILLISECOND);

    /// Time without an answer after which a neighbour counts as silent: some beats, and a round trip.
    pub const SILENCE: Span = Span(500 * MILLISECOND);

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

    /// When the last thing was sent that the other end has answered.
    pub fn alive(&self) -> Time {
        self.alive
    }

    /// Whether the other end has become silent since this was last asked (`true`), or is heard again.
    pub fn change(&mut self, now: Time) -> Option<bool> {
        let is_silent = self.alive + Self::SILENCE <= now;
        (std::mem::replace(&mut self.is_silent, is_silent) != is_silent).then_some(is_silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time(0) + Span::ms(ms)
    }

    #[test]
    fn an_end_is_alive_as_of_the_last_beat_that_it_answered() {
        let (mut one, mut other) = (Pulse::new(ms(0)), Pulse::new(ms(0)));
        other.hear(&one.beat(ms(100)));
        one.hear(&other.beat(ms(200)));
        assert_eq!((one.alive(), other.alive()), (ms(100), ms(0)));
        // Beats that get lost are answered by none; a late one and a false one say nothing.
        let late = other.beat(ms(210));
        one.beat(ms(225));
        other.hear(&one.beat(ms(350)));
        one.hear(&other.beat(ms(400)));
        one.hear(&late);
        one.hear(b"beat");
        assert_eq!(one.alive(), ms(350));
        assert_eq!((one.change(ms(849)), one.change(ms(850)), one.change(ms(860))), (None, Some(true), None));
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
        assert!(one.alive() <= ms(1000) && other.alive() <= ms(1000));
        assert!(one.alive() >= ms(750) && other.alive() >= ms(750), "{one:?} {other:?}");
    }
}
