//! What protocols have in common that set a rate by the share of marked packets and by what the path can carry.
//!
//! ```text
//! p    = (1 - a) p + a m          once an interval; m: marked of the packets acknowledged in it
//! rate = next(rate, k, p)         at most twice the rate, at most k, at least the floor
//! rate = rest(k, p)               in place of that where the rule jumps, as soon as k changes too
//! floor: k / 64, or the first rate if that is less, or a packet in a round trip if that is more; at most rest(k, p)
//! packets go at that rate, one a second or a round trip at least; at most rate least-round-trip + 1 of them are under way
//! ```
//!
//! rest is the rate that stays as it is with such a p: what marks ask for goes before the floor, however little it is.
//!
//! k is what the path can carry: the least capacity of its links as far as it is known, or what the next loop sends at.
//! Without the limit on what is under way, rates swing for ever unless intervals are very short: queues answer a round trip
//! late. With it a queue depends on rates alone.
//!
//! An interval is the least round trip, or a fixed time if one is given, and ends with the first acknowledgement after that
//! [teymoori2023, sec. IX-C]. Where fewer than four packets are acknowledged in one, it counts for as many quarters of a,
//! so p forgets by packets there; the rate still moves each interval. An interval in which packets were lost counts whole,
//! as if all were marked.
//!
//! The least round trip is that of all time, unless `rtt_window` limits it. A least that forgets takes a queue that stands
//! for a part of the path, and lets windows grow by it; one that does not holds a rate down where a path becomes longer.
//! After packets were lost before the first round trip, the first measured one counts for nothing: it has waited too.

use anabranch_core::{Bytes, Rate, Span, Time};

use crate::control::ConnectionView;
use crate::window::{Acked, MOST_WINDOW, PACES, Recent, Signal, WindowControl};

/// The greatest share of marked packets that counts: formulas have the logarithm of what is left.
const MOST_MARKED: f64 = 0.999;

/// An interval with this number of acknowledged packets counts whole.
const WHOLE: f64 = 4.0;

/// Packets a second, but no more than one in a round trip, that go in any case: over what a path carries, perhaps, but their
/// acknowledgements tell of more.
const LEAST_PACE: f64 = 1.0;

/// The first rate is no floor where it is more than such a part of what the path can carry.
const FLOOR: f64 = 1.0 / 64.0;

/// The rule by which a rate changes once an interval.
pub trait NextRate: Send {
    /// The next rate, of the present one and of what the path can carry, all in bits a second; `p` is the share of marked
    /// packets, 0 to 0.999.
    fn next(&self, rate: f64, capacity: f64, p: f64) -> f64;

    /// The rate that stays as it is with such a share of marked packets; at most the capacity.
    fn rest(&self, capacity: f64, p: f64) -> f64;

    /// Whether the rate is the one of rest at any time, where the capacity is known.
    fn jumps(&self) -> bool {
        false
    }
}

/// What does not change while a connection lasts.
#[derive(Clone, Copy, Debug)]
pub struct MarkedRateSettings {
    /// The weight of the latest interval in the share of marked packets (a).
    pub weight: f64,
    /// Whether what is under way is limited.
    pub is_windowed: bool,
    /// The time between two changes of the rate; `None` for the least round trip.
    pub interval: Option<Span>,
    /// How long a round trip counts for the least; `None` for ever.
    pub rtt_window: Option<Span>,
}

/// A rate for one path.
#[derive(Clone, Debug)]
pub struct MarkedRate<N> {
    next: N,
    settings: MarkedRateSettings,
    packet: Bytes,
    first: f64,
    /// The window before the first round trip.
    start: f64,
    /// Whether packets were lost before the first round trip, so that the next one measured tells nothing.
    is_late: bool,
    /// In bits a second; `None` before the first round trip.
    rate: Option<f64>,
    /// Infinite if it is not known.
    capacity: f64,
    /// In seconds; infinite before the first.
    least_rtt: f64,
    /// Round trips that count for the least, if not all do.
    recent: Recent,
    p: f64,
    /// The interval: when it began, and the packets in it that were acknowledged and marked, and whether any was lost.
    began: Time,
    acknowledged: u32,
    marked: u32,
    has_lost: bool,
}

impl<N: NextRate> MarkedRate<N> {
    /// The control of a connection.
    pub fn new(next: N, settings: MarkedRateSettings, connection: &ConnectionView) -> Self {
        Self {
            next,
            settings,
            packet: connection.packet,
            first: connection.first_window,
            start: connection.first_window,
            is_late: false,
            rate: None,
            capacity: f64::INFINITY,
            least_rtt: f64::INFINITY,
            recent: Recent::default(),
            p: 0.0,
            began: Time(0),
            acknowledged: 0,
            marked: 0,
            has_lost: false,
        }
    }

    fn bits(&self) -> f64 {
        8.0 * self.packet.0 as f64
    }

    /// The most that counts as what the path can carry.
    fn carrying(&self) -> f64 {
        self.capacity.min(PACES.end() * self.bits())
    }

    /// Whether the rate is the one of rest at any time.
    fn jumps(&self) -> bool {
        self.next.jumps() && self.capacity.is_finite()
    }

    /// The first window in the least round trip, in bits a second.
    fn first_rate(&self) -> f64 {
        self.start * self.bits() / self.least_rtt
    }

    fn bounded(&self, rate: f64) -> f64 {
        let carrying = self.carrying();
        let floor = self.first_rate().min(FLOOR * carrying).max(self.bits() / self.least_rtt);
        // What marks ask for goes before the floor.
        let rate = if rate < floor { rate.max(floor.min(self.next.rest(carrying, self.p))) } else { rate };
        let least = LEAST_PACE.min(1.0 / self.least_rtt).max(*PACES.start()) * self.bits();
        rate.min(carrying).max(least)
    }

    fn begin_interval(&mut self, now: Time) {
        (self.began, self.acknowledged, self.marked, self.has_lost) = (now, 0, 0, false);
    }

    fn end_interval(&mut self, now: Time, rate: f64) {
        let acknowledged = f64::from(self.acknowledged);
        let (marked, part) = if self.has_lost {
            (1.0, 1.0)
        } else {
            (f64::from(self.marked.min(self.acknowledged)) / acknowledged, (acknowledged / WHOLE).min(1.0))
        };
        self.p = (self.p + self.settings.weight * part * (marked - self.p)).clamp(0.0, MOST_MARKED);
        let next = self.next.next(rate, self.carrying(), self.p);
        let next = if self.jumps() { next } else { next.min(2.0 * rate) };
        self.rate = Some(self.bounded(next));
        self.begin_interval(now);
    }

    /// Takes a round trip in. The floor rises where the path proves shorter than it seemed.
    fn measure(&mut self, now: Time, rtt: f64) {
        let before = self.least_rtt;
        self.least_rtt = match self.settings.rtt_window {
            None => before.min(rtt),
            Some(window) => {
                self.recent.add(now.seconds(), rtt, window.seconds());
                self.recent.least()
            }
        };
        if self.least_rtt < before {
            self.rate = self.rate.map(|rate| self.bounded(rate));
        }
    }
}

impl<N: NextRate> WindowControl for MarkedRate<N> {
    fn open(&mut self, _: usize, now: Time) {
        (self.rate, self.p, self.least_rtt, self.start) = (None, 0.0, f64::INFINITY, self.first);
        (self.capacity, self.is_late, self.recent) = (f64::INFINITY, false, Recent::default());
        self.begin_interval(now);
    }

    fn close(&mut self, _: usize) {}

    fn on_capacity(&mut self, _: usize, capacity: Rate) {
        self.capacity = capacity.0.max(1.0);
        let Some(rate) = self.rate else { return };
        let rate = if self.jumps() { self.next.rest(self.carrying(), self.p) } else { rate };
        self.rate = Some(self.bounded(rate));
    }

    fn on_ack(&mut self, _: usize, acked: &Acked) {
        match acked.rtt {
            Some(_) if self.is_late => {
                self.is_late = false;
                return;
            }
            Some(rtt) => self.measure(acked.now, rtt),
            None => {}
        }
        self.acknowledged = self.acknowledged.saturating_add(acked.packets);
        self.marked = self.marked.saturating_add(acked.marked);
        let Some(rate) = self.rate else {
            if self.least_rtt.is_finite() {
                self.rate = Some(self.bounded(self.first_rate()));
                self.begin_interval(acked.now);
            }
            return;
        };
        let seconds = Span(acked.now.0.saturating_sub(self.began.0)).seconds();
        let interval = self.settings.interval.map_or(self.least_rtt, Span::seconds);
        if seconds >= interval && self.acknowledged > 0 {
            self.end_interval(acked.now, rate);
        }
    }

    fn on_signal(&mut self, _: usize, signal: Signal, _: u32, _: Time) {
        match signal {
            // Each mark was counted when it was told of.
            Signal::Mark => {}
            // As if all packets of the interval were marked.
            Signal::Loss => self.has_lost = true,
            Signal::Timeout => {
                self.has_lost = true;
                self.is_late = self.rate.is_none();
                if self.is_late {
                    self.start = 1.0;
                }
                self.rate = self.rate.map(|_| self.bounded(0.0));
            }
        }
    }

    fn window(&self, _: usize) -> f64 {
        match self.rate {
            None => self.start,
            Some(rate) if self.settings.is_windowed => (rate * self.least_rtt / self.bits() + 1.0).min(MOST_WINDOW),
            Some(_) => MOST_WINDOW,
        }
    }

    fn pace(&self, _: usize) -> Option<Rate> {
        self.rate.map(Rate)
    }

    fn marked_share(&self, _: usize) -> Option<f64> {
        self.rate.map(|_| self.p)
    }
}
