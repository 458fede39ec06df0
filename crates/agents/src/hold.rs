//! The time for which rates stay as they are after renewals.
//!
//! Each renewal keeps rates as they are for a while. Renewals may follow each other without end, as where a hop comes and
//! goes: after some of them rates move for a while, whatever comes.

use anabranch_core::{Span, Time};

/// The greatest time for which rates stay, as a multiple of that after one renewal.
const MOST: u64 = 3;

/// Until when rates stay as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    span: Span,
    /// When the present series of renewals began.
    since: Time,
    until: Time,
    /// Time before which renewals keep nothing.
    free: Time,
}

impl Hold {
    /// Rates that may move from now on; a renewal keeps them for a span.
    pub fn new(now: Time, span: Span) -> Self {
        Self { span, since: now, until: now, free: now }
    }

    /// Begins a renewal; rates stay until the time that this returns.
    pub fn renew(&mut self, now: Time) -> Time {
        if now >= self.until {
            self.since = now;
        }
        if now >= self.free {
            let most = self.since + Span(MOST * self.span.0);
            self.until = (now + self.span).min(most);
            if self.until == most {
                self.free = most + self.span;
            }
        }
        self.until
    }

    /// The time until which rates stay.
    pub fn until(&self) -> Time {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Time {
        Time(0) + Span::s(seconds)
    }

    #[test]
    fn rates_move_for_a_while_however_often_renewals_come() {
        let mut hold = Hold::new(s(0), Span::s(2));
        assert_eq!((hold.renew(s(10)), hold.renew(s(11))), (s(12), s(13)));
        // Later renewals begin a series of their own.
        assert_eq!(hold.renew(s(20)), s(22));
        let held: Vec<bool> = (21..60).map(|now| hold.renew(s(now)) > s(now)).collect();
        // Six seconds from 20 on, two without, six from 28 on.
        let wanted: Vec<bool> = (21..60).map(|now| (now - 20) % 8 < 6).collect();
        assert_eq!(held, wanted);
    }
}
