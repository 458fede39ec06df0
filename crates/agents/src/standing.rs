//! The standing of a neighbour: whether it is away, and whether it makes trouble.
//!
//! Each fault of a neighbour adds to its penalty, which falls by half in some seconds. A neighbour with a high penalty is
//! held off until the penalty is low again, since each fault costs all agents of the network a renewal.

use anabranch_core::{Span, Time, units::SECOND};

/// Time in which a penalty falls by half.
const HALF_LIFE: Span = Span(10 * SECOND);

/// The penalty from which a neighbour is held off, that from which it is taken up again, and the greatest.
const HELD_OFF: f64 = 6.0;
const TAKEN_UP: f64 = 2.0;
const MOST: f64 = 12.0;

/// The absence of a neighbour.
#[derive(Clone, Copy, Debug)]
struct Away {
    /// The time of the last sign of life.
    since: Time,
    /// Whether other agents have heard of it.
    is_told: bool,
}

/// The standing of a neighbour.
#[derive(Debug)]
pub(crate) struct Standing {
    /// The absence of the neighbour; `None` while it is there.
    away: Option<Away>,
    /// Whether there has ever been a connection.
    pub has_come: bool,
    /// Whether the agent has stopped to wait for the neighbour.
    pub is_given_up: bool,
    penalty: f64,
    as_of: Time,
    is_held_off: bool,
}

impl Standing {
    /// The standing of a neighbour that has not called yet, and is away from a time on.
    pub fn new(from: Time) -> Self {
        Self {
            away: Some(Away { since: from, is_told: false }),
            has_come: false,
            is_given_up: false,
            penalty: 0.0,
            as_of: Time(0),
            is_held_off: false,
        }
    }

    /// Notes that the neighbour is there.
    pub fn be_here(&mut self) {
        self.away = None;
    }

    /// Notes that the neighbour is away, and was there last at a time, unless it is away already.
    pub fn be_away(&mut self, since: Time) {
        self.away.get_or_insert(Away { since, is_told: false });
    }

    /// The last sign of life of a neighbour that is away, and is not given up.
    pub fn away_since(&self) -> Option<Time> {
        self.away.filter(|_| !self.is_given_up).map(|away| away.since)
    }

    /// The last sign of life of a neighbour that is away, if other agents have to hear of that.
    pub fn untold(&self) -> Option<Time> {
        let is_first = self.away.is_some_and(|away| !away.is_told) && self.has_come;
        self.away_since().filter(|_| is_first)
    }

    /// Notes that other agents have heard that the neighbour is away.
    pub fn tell(&mut self) {
        if let Some(away) = &mut self.away {
            away.is_told = true;
        }
    }

    /// Adds to the penalty.
    pub fn blame(&mut self, now: Time, penalty: f64) {
        self.decay(now);
        self.penalty = (self.penalty + penalty).min(MOST);
        self.is_held_off |= self.penalty >= HELD_OFF;
    }

    /// Whether the neighbour is held off.
    pub fn is_held_off(&mut self, now: Time) -> bool {
        self.decay(now);
        self.is_held_off &= self.penalty > TAKEN_UP;
        self.is_held_off
    }

    /// Whether the neighbour was held off when that was last looked at.
    pub fn was_held_off(&self) -> bool {
        self.is_held_off
    }

    fn decay(&mut self, now: Time) {
        let halves = now.0.saturating_sub(self.as_of.0) as f64 / HALF_LIFE.0 as f64;
        self.penalty *= 0.5f64.powf(halves);
        self.as_of = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_with_many_faults_is_held_off_for_a_while() {
        let at = |seconds: u64| Time(seconds * SECOND);
        let mut standing = Standing::new(at(0));
        for second in 0..5 {
            standing.blame(at(second), 1.0);
            assert!(!standing.is_held_off(at(second)));
        }
        // 1 and 4 that have decayed for 10 s on the mean of 2: not 6. Two more, and it is held off.
        standing.blame(at(5), 2.0);
        assert!(standing.is_held_off(at(5)));
        // From 6 to 2 takes 10 s times the binary logarithm of 3.
        assert!(standing.is_held_off(at(5 + 15)) && !standing.is_held_off(at(5 + 17)));
        // However many faults there are, 12 fall to 2 in 26 s.
        (0..100).for_each(|_| standing.blame(at(30), 1.0));
        assert!(standing.is_held_off(at(30 + 25)) && !standing.is_held_off(at(30 + 26)));
    }
}
