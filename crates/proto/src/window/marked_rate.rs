//! The common part of protocols that set a rate by the share of marked packets and by the capacity of the path.
//!
//! ```text
//! p    = (1 - a) p + a m          once an interval; m: marked of the packets acknowledged in it
//! rate = next(rate, k, p)         at most twice the rate, at most k, at least the floor
//! rate = rest(k, p)               in place of that where the rule jumps, as soon as k changes too
//! floor: k / 64, or the first rate if that is less, or a packet in a round trip if that is more; at most rest(k, p)
//! packets go at that rate, one a second or a round trip at least; at most rate least-round-trip + 1 of them are in flight
//! ```
//!
//! rest is the rate at which the rule stays for the present p. The rate that marks call for overrides the floor,
//! however small it is.
//!
//! p counts divided by the weight of the connection, omega, which is 1 unless set [teymoori2023, eq. 11].
//!
//! k is the capacity of the path: the least known capacity of its links, or the sending rate of the next loop. Without
//! the limit on packets in flight, rates oscillate for ever unless intervals are very short, since queues answer a
//! round trip late. With the limit, a queue depends on rates alone.
//!
//! An interval is the least round trip, or a fixed time if one is given, and ends with the first acknowledgement after
//! that [teymoori2023, sec. IX-C]. An interval with fewer than four acknowledged packets counts for as many quarters of
//! a, so there p forgets by packets; the rate still changes in each interval. An interval with losses counts in full,
//! as if all packets were marked.
//!
//! The least round trip is taken over all time, unless `rtt_window` limits it. A minimum that forgets takes a standing
//! queue for a part of the path, and lets windows grow by it. A minimum that does not forget holds a rate down where a
//! path becomes longer. If packets were lost before the first round trip, the first measured one does not count, since
//! it includes a wait.

use anabranch_core::{Bytes, Rate, Span, Time};

use crate::control::ConnectionView;
use crate::window::{Acked, MOST_WINDOW, PACES, Recent, Signal, WindowControl};

/// Greatest share of marked packets that counts, since formulas have the logarithm of the rest.
const MOST_MARKED: f64 = 0.999;

/// Number of acknowledged packets from which an interval counts in full.
const WHOLE: f64 = 4.0;

/// Least pace in packets a second, but no more than one packet in a round trip. It may exceed the capacity of the path,
/// but it lets acknowledgements report a higher capacity.
const LEAST_PACE: f64 = 1.0;

/// The floor is at most this part of the capacity of the path, even if the first rate is more.
const FLOOR: f64 = 1.0 / 64.0;

/// The rule by which a rate changes once an interval.
pub trait NextRate: Send {
    /// The next rate, from the present rate and the capacity of the path, all in bits a second; `p` is the share of
    /// marked packets, 0 to 0.999.
    fn next(&self, rate: f64, capacity: f64, p: f64) -> f64;

    /// The rate that does not change at this share of marked packets, in bits a second; at most the capacity.
    fn rest(&self, capacity: f64, p: f64) -> f64;

    /// Whether the rate is the rate of rest at any time, where the capacity is known.
    fn jumps(&self) -> bool {
        false
    }
}

/// Settings that are fixed for the lifetime of a connection.
#[derive(Clone, Copy, Debug)]
pub struct MarkedRateSettings {
    /// Weight of the latest interval in the share of marked packets (a).
    pub weight: f64,
    /// Whether packets in flight are limited.
    pub is_windowed: bool,
    /// Time between two changes of the rate; `None` for the least round trip.
    pub interval: Option<Span>,
    /// Time for which a round trip counts towards the least; `None` for all time.
    pub rtt_window: Option<Span>,
    /// Weight of the connection, by which the share of marked packets is divided (omega); over 0, at most 1.
    pub omega: f64,
}

/// The rate of one path.
#[derive(Clone, Debug)]
pub struct MarkedRate<N> {
    next: N,
    settings: MarkedRateSettings,
    packet: Bytes,
    first: f64,
    /// Window before the first round trip, in packets.
    start: f64,
    /// Whether packets were lost before the first round trip, so that the next measured one does not count.
    is_late: bool,
    /// Rate in bits a second; `None` before the first round trip.
    rate: Option<f64>,
    /// Capacity of the path in bits a second; infinite if it is not known.
    capacity: f64,
    /// Least round trip in seconds; infinite before the first.
    least_rtt: f64,
    /// Round trips of the last `rtt_window`, if the least forgets.
    recent: Recent,
    p: f64,
    /// The present interval: its beginning, the packets acknowledged and marked in it, and whether any was lost.
    began: Time,
    acknowledged: u32,
    marked: u32,
    has_lost: bool,
}

impl<N: NextRate> MarkedRate<N> {
    /// Creates the control of a connection.
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

    /// The capacity of the path as the rule sees it, in bits a second.
    fn carrying(&self) -> f64 {
        self.capacity.min(PACES.end() * self.bits())
    }

    /// The share of marked packets as the rule sees it.
    fn felt(&self) -> f64 {
        (self.p / self.settings.omega).min(MOST_MARKED)
    }

    /// Whether the rate is the rate of rest at any time.
    fn jumps(&self) -> bool {
        self.next.jumps() && self.capacity.is_finite()
    }

    /// The first window divided by the least round trip, in bits a second.
    fn first_rate(&self) -> f64 {
        self.start * self.bits() / self.least_rtt
    }

    fn bounded(&self, rate: f64) -> f64 {
        let carrying = self.carrying();
        let floor = self.first_rate().min(FLOOR * carrying).max(self.bits() / self.least_rtt);
        // The rate that marks call for overrides the floor.
        let rate = if rate < floor { rate.max(floor.min(self.next.rest(carrying, self.felt()))) } else { rate };
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
        let next = self.next.next(rate, self.carrying(), self.felt());
        let next = if self.jumps() { next } else { next.min(2.0 * rate) };
        self.rate = Some(self.bounded(next));
        self.begin_interval(now);
    }

    /// Adds a round trip. The floor rises where the path proves shorter than it seemed.
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
        let rate = if self.jumps() { self.next.rest(self.carrying(), self.felt()) } else { rate };
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
            // Marks are counted when acknowledgements report them.
            Signal::Mark => {}
            // All packets of the interval count as marked.
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
