//! Things that may happen some at once, and then one in each pause.

use anabranch_core::{Span, Time};

/// How often something may happen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pause: Span,
    at_once: u64,
    /// The time at which all that happened would have happened with a pause after each.
    until: Time,
}

impl Allowance {
    /// Allows `at_once` at first, and then one in each pause on the mean.
    pub const fn new(at_once: u64, pause: Span) -> Self {
        Self { pause, at_once, until: Time(0) }
    }

    /// The time from which the next is allowed.
    pub fn next_at(&self) -> Time {
        Time(self.until.0.saturating_sub((self.at_once - 1) * self.pause.0))
    }

    /// Takes one, if it is allowed now; whether it is.
    pub fn try_take(&mut self, now: Time) -> bool {
        let is_allowed = self.next_at() <= now;
        if is_allowed {
            self.until = self.until.max(now) + self.pause;
        }
        is_allowed
    }

    /// Whether as many are allowed as at first.
    pub fn is_whole(&self, now: Time) -> bool {
        self.until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_allowed_at_once_and_then_one_in_each_pause() {
        let mut allowance = Allowance::new(3, Span(10));
        let allowed: Vec<u64> = (100..150).filter(|now| allowance.try_take(Time(*now))).collect();
        // At 130 the three of the beginning are used up, and one is allowed in each ten since 100.
        assert_eq!(allowed, [100, 101, 102, 110, 120, 130, 140]);
        assert_eq!(
            (allowance.next_at(), allowance.is_whole(Time(169)), allowance.is_whole(Time(170))),
            (Time(150), false, true)
        );
    }
}
