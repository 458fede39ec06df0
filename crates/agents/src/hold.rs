//! The time for which rates stay as they are after renewals.
//!
//! Each renewal keeps rates as they are until a hop that went silent just before it is known to be silent. While some
//! agent does not hear sources that may hold rates, rates stay for as long as these may. Renewals may follow each other
//! without end, as where a hop comes and goes: after some seconds rates move for a while, whatever comes.

use anabranch_core::{Span, Time, units::SECOND};

/// The greatest time for which rates stay, and the time for which they move then.
const MOST: Span = Span(6 * SECOND);
const FREE: Span = Span(2 * SECOND);

/// Until when rates stay as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    /// Time for which each renewal keeps rates.
    span: Span,
    /// Time until which sources may hold rates that nobody hears.
    unheard: Time,
    /// When the present series of renewals began.
    since: Time,
    until: Time,
    /// Time before which renewals keep nothing.
    free: Time,
}

impl Hold {
    /// Rates that may move from now on; a renewal keeps them for a span.
    pub fn new(now: Time, span: Span) -> Self {
        Self { span, unheard: now, since: now, until: now, free: now }
    }

    /// Begins a renewal; rates stay until the time that this returns.
    pub fn renew(&mut self, now: Time) -> Time {
        if now >= self.until {
            self.since = now;
        }
        if now >= self.free {
            self.keep((now + self.span).max(self.unheard));
        }
        self.until
    }

    /// Notes that sources may hold rates until a time that nobody hears. Rates that stay, stay as long; those that move
    /// go on: these sources heard of the last renewal. Returns the time until which rates stay.
    pub fn wait(&mut self, now: Time, until: Time) -> Time {
        self.unheard = self.unheard.max(until);
        if now < self.until {
            self.keep(self.unheard);
        }
        self.until
    }

    /// The time until which rates stay.
    pub fn until(&self) -> Time {
        self.until
    }

    fn keep(&mut self, until: Time) {
        let most = self.since + MOST;
        self.until = self.until.max(until).min(most);
        if self.until == most {
            self.free = most + FREE;
        }
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

    #[test]
    fn rates_stay_as_long_as_sources_may_hold_rates_that_nobody_hears() {
        let mut hold = Hold::new(s(0), Span::s(1));
        // Without a renewal all sources are counted.
        assert_eq!(hold.wait(s(5), s(8)), s(0));
        // A renewal that they do not hear; further ones go silent meanwhile, and others when rates move again.
        assert_eq!((hold.renew(s(6)), hold.wait(s(7), s(10)), hold.wait(s(10), s(12))), (s(8), s(10), s(10)));
        assert_eq!((hold.renew(s(20)), hold.wait(s(20), s(99)), hold.renew(s(26))), (s(21), s(26), s(26)));
        assert_eq!(hold.renew(s(28)), s(34));
    }
}
