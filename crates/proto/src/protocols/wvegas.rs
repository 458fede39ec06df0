//! wVegas, weighted Vegas: Vegas on each subflow; subflows divide the packets that may wait by their rates [cao2012].
//!
//! Once a round, with the mean round trip of the round and the least of all round trips, the base [cao2012, alg. 3]:
//!
//! ```text
//! backlog = window (rtt - base) / rtt
//!
//! backlog >= alpha:  rate = window / rtt,  weight = rate / sum of rates  for all subflows with a rate,
//!                    alpha = max(least alpha, weight total_alpha)
//! backlog < alpha:   window + 1
//! backlog > alpha:   window - 1
//! queue > 2 least:   window <- window base / (2 rtt), and the least queueing delay is forgotten      queue = rtt - base
//! loss, mark:        window / 2, and rate and the least queueing delay are forgotten
//! ```
//!
//! A subflow with a larger rate has a shorter queueing delay for its packets, so more of them move to it, until delays
//! are equal: then no path is more congested than another. Slow start doubles the window every other round trip until
//! the backlog exceeds gamma; then the window is as in Vegas.
//!
//! differs: the sentence below [cao2012, eq. 13] has the signs the wrong way round. As printed, the first queueing
//! delay after a drain is almost 0, the next is more than twice that, and windows fall again; unless the clock is so
//! coarse that it measures 0, which stands for none, as with `clock = "1 ms"`. With `drain = "saturated"` the least
//! queueing delay is recorded and compared only in rounds with a backlog of alpha or more. With `drain = "steady"` the
//! same mean is recorded, but it is compared with the delay of the packet that waited least in this round and the one
//! before; and slow start follows the packet that waited least in a round. A standing queue delays all packets; a
//! machine that halts for a moment delays only the packets then in flight, which may be all of one round.
//!
//! The paper prints what a drain (lines 19 to 25) does to the window, and leaves the slow start threshold to Vegas.
//! `after_drain` chooses it. With `"window"` the threshold falls to the drained window, which grows again by a packet a
//! round. With `"kept"` it is the window before the drain, and slow start returns to there. With `"three-quarters"` it
//! is 3/4 of that: Linux keeps at least 3/4 of each window as the threshold.
//!
//! A loss sets the rate to 0 (line 33), and lines 28 to 31 leave a subflow without a rate its weight, while the weights
//! of the others sum to 1. Then the weights of all sum to more than 1, and alphas to more than `total_alpha`, until the
//! subflow is saturated again; an alpha that a short queue cannot hold ends in the next loss. `at_loss` chooses: as
//! printed with `"paper"`. With `"share"` the subflows with a rate share what the weights of the open subflows without
//! one leave of 1. With `"keep"` a loss leaves the rate. With `"least"` it also returns alpha to the least.
//!
//! differs: Linux combines `at_loss = "least"` with `after_drain = "three-quarters"`, but it waits for the end of
//! recovery before it returns to the least alpha, and returns to a weight of 1, which nothing reads until the next
//! saturation. It also drains a queue of exactly twice the least.
//!
//! As in the paper, subflows are coupled by their alphas alone. Where a queue never holds alpha packets of a subflow,
//! as in short queues or where packets are lost at random, its window grows by a packet a round and halves at a loss as
//! Reno's does: a connection then counts as many times as it has subflows. And each subflow keeps the least alpha at
//! least, so with more than `total_alpha / alpha` of them a connection has more packets waiting than `total_alpha`.
//!
//! differs: backlog and rate are those of the packets in flight where these are fewer than the window, for the rest of
//! the window waits nowhere.

use anabranch_core::quantity::SpanText;
use anabranch_core::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::Capabilities;
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Acked, MOST_WINDOW, RoundTrips, Signal, SubflowSnapshot, WindowControl, backlog};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities::WINDOWS;

/// The least window in packets, except right after a timeout [cao2012, alg. 3].
const LEAST: f64 = 2.0;

/// Queueing delay, relative to the least, that makes the window drain.
const LONG: f64 = 2.0;

/// Part of the window that fits without queues which a drain leaves.
const REST: f64 = 0.5;

/// Part of the window before a drain that is the slow start threshold after it, with `after_drain = "three-quarters"`.
const RESUMED: f64 = 0.75;

/// Parameters of wVegas; the defaults are those of the paper, except `drain` and `clock`. Packets are those that wait
/// in queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WvegasParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Packets that all subflows together keep waiting, 0.1 to 1e4.
    #[serde(deserialize_with = "packets")]
    #[schemars(range(min = 0.1, max = 1e4))]
    pub total_alpha: f64,
    /// Packets that each subflow keeps waiting at first and at least, 0.1 to 1e4.
    #[serde(deserialize_with = "packets")]
    #[schemars(range(min = 0.1, max = 1e4))]
    pub alpha: f64,
    /// Packets waiting above which slow start ends, 0.1 to 1e4.
    #[serde(deserialize_with = "packets")]
    #[schemars(range(min = 0.1, max = 1e4))]
    pub gamma: f64,
    /// Condition under which windows drain queues, so that bases are right: "saturated", "steady", "paper" as it is
    /// printed, or "off".
    pub drain: Drain,
    /// Slow start threshold after a drain: "window", the drained window, if not given; "three-quarters" of the window
    /// before the drain; or "kept", all of that.
    #[serde(skip_serializing_if = "is_usual")]
    pub after_drain: AfterDrain,
    /// Effect of a loss on rates and weights: "paper", as it is printed, if not given; "share", "keep", or "least".
    #[serde(skip_serializing_if = "is_usual")]
    pub at_loss: AtLoss,
    /// Resolution of the clock: round trips are whole multiples of it; 0 s to 1 s, where "0 s" means exact times.
    #[serde(deserialize_with = "clock")]
    pub clock: SpanText,
}

/// The condition under which windows drain queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// Queueing delays double, in rounds with a backlog of alpha or more.
    #[default]
    Saturated,
    /// Each packet of such a round and the one before waits twice the least mean. This suits machines that halt for
    /// moments; slow start then follows the packet that waits least.
    Steady,
    /// Queueing delays double, in any round.
    Paper,
    /// Windows never drain queues.
    Off,
}

/// The slow start threshold after a drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterDrain {
    /// The drained window, which grows again by a packet a round.
    #[default]
    Window,
    /// Three quarters of the window before the drain; slow start returns to there.
    ThreeQuarters,
    /// The window before the drain; slow start returns to there.
    Kept,
}

/// The effect of a loss or mark on rates and weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtLoss {
    /// The subflow forgets its rate and keeps its weight and alpha; the weights of subflows with a rate sum to 1.
    #[default]
    Paper,
    /// The subflow forgets its rate and keeps its weight and alpha; subflows with a rate share the rest of 1.
    Share,
    /// The subflow keeps its rate, weight and alpha.
    Keep,
    /// The subflow forgets its rate, and its alpha returns to the least.
    Least,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            total_alpha: 10.0,
            alpha: 2.0,
            gamma: 1.0,
            drain: Drain::Saturated,
            after_drain: AfterDrain::Window,
            at_loss: AtLoss::Paper,
            clock: SpanText(Span(0)),
        }
    }
}

/// Whether a choice is the default; the text of a resolved scenario leaves it out.
fn is_usual<T: Default + PartialEq>(choice: &T) -> bool {
    *choice == T::default()
}

fn packets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(0.1..=1e4, deserializer)
}

fn clock<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    range::span(Span(0)..=Span::s(1), deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let (count, first) = (connection.subflows, connection.first_window);
    let closed = Subflow { is_open: false, ..Subflow::new(1.0, parameters.alpha, count) };
    Box::new(Wvegas { parameters: parameters.clone(), first, subflows: vec![closed; count] })
}

struct Wvegas {
    parameters: Parameters,
    first: f64,
    subflows: Vec<Subflow>,
}

#[derive(Clone, Debug)]
struct Subflow {
    /// Whether the subflow is in use.
    is_open: bool,
    window: f64,
    threshold: f64,
    trips: RoundTrips,
    /// Least round trip of the round before in seconds; 0 without one.
    before: f64,
    /// Smoothed round trip in seconds; 0 before the first.
    rtt: f64,
    /// Whether the window grows in this round of slow start.
    is_growing: bool,
    /// Packets that are to wait.
    alpha: f64,
    /// Share of the subflow in all packets that are to wait.
    weight: f64,
    /// Rate at the last saturation, in packets a second; 0 before one, or after a loss.
    rate: f64,
    /// Least queueing delay since the last drain or loss, in seconds; 0 if there is none.
    least_queue: f64,
}

impl Subflow {
    fn new(window: f64, alpha: f64, count: usize) -> Self {
        Self {
            is_open: true,
            window,
            threshold: f64::INFINITY,
            trips: RoundTrips::default(),
            before: 0.0,
            rtt: 0.0,
            is_growing: true,
            alpha,
            weight: 1.0 / count as f64,
            rate: 0.0,
            least_queue: 0.0,
        }
    }

    /// Reduces the window if the queue has become long: in a round with this mean, by this round trip of it.
    fn drain(&mut self, mean: f64, compared: f64, base: f64, after: AfterDrain) {
        let queue = mean - base;
        if self.least_queue <= 0.0 || self.least_queue > queue {
            self.least_queue = queue;
        }
        if compared - base > LONG * self.least_queue {
            let resumed = match after {
                AfterDrain::Window => None,
                AfterDrain::ThreeQuarters => Some(RESUMED * self.window),
                AfterDrain::Kept => Some(self.window),
            };
            self.window *= REST * base / mean;
            self.least_queue = 0.0;
            (self.threshold, self.is_growing) =
                resumed.map_or((self.threshold.min(self.window), self.is_growing), |threshold| (threshold, true));
        }
    }
}

impl Wvegas {
    /// A time in seconds at the resolution of the clock.
    fn told(&self, seconds: f64) -> f64 {
        let unit = self.parameters.clock.0.seconds();
        if unit > 0.0 { ((seconds / unit).round() * unit).max(unit) } else { seconds }
    }

    /// Whether slow start may grow: with "steady" not where each packet of the round so far has waited.
    fn has_room(&self, subflow: usize) -> bool {
        let Subflow { window, ref trips, .. } = self.subflows[subflow];
        let is_judged = self.parameters.drain == Drain::Steady && trips.samples() > 0;
        !is_judged || backlog(window, trips.least(), trips.base()) <= self.parameters.gamma
    }

    fn end_round(&mut self, subflow: usize, acked: &Acked) {
        let Some(rtt) = self.subflows[subflow].trips.mean() else { return };
        let rtt = self.told(rtt);
        let own = &mut self.subflows[subflow];
        let base = own.trips.base();
        let used = if acked.is_limited { own.window } else { own.window.min(f64::from(acked.in_flight.0)) };
        if own.window < own.threshold {
            let rtt = if self.parameters.drain == Drain::Steady { own.trips.least() } else { rtt };
            if backlog(used, rtt, base) > self.parameters.gamma {
                own.window = own.window.min((used * base / rtt).floor() + 1.0);
                own.threshold = own.window;
            }
            own.is_growing = !own.is_growing;
            return;
        }
        let backlog = backlog(used, rtt, base);
        let is_saturated = backlog >= own.alpha;
        if is_saturated {
            own.rate = used / rtt;
            self.weigh();
            let own = &mut self.subflows[subflow];
            own.alpha = (own.weight * self.parameters.total_alpha).max(self.parameters.alpha);
        }
        let own = &mut self.subflows[subflow];
        if backlog < own.alpha && acked.is_limited {
            own.window += 1.0;
        } else if backlog > own.alpha {
            own.window -= 1.0;
        }
        own.threshold = own.threshold.min(own.window);
        let after = self.parameters.after_drain;
        match self.parameters.drain {
            Drain::Saturated if is_saturated => own.drain(rtt, rtt, base, after),
            Drain::Steady if is_saturated => own.drain(rtt, own.trips.least().min(own.before), base, after),
            Drain::Paper => own.drain(rtt, rtt, base, after),
            Drain::Saturated | Drain::Steady | Drain::Off => {}
        }
    }

    /// Computes the weights of all subflows that have a rate.
    fn weigh(&mut self) {
        let total: f64 = self.subflows.iter().map(|subflow| subflow.rate).sum();
        let shared = self.shared();
        for subflow in self.subflows.iter_mut().filter(|subflow| subflow.rate > 0.0) {
            subflow.weight = subflow.rate / total * shared;
        }
    }

    /// Sum of the weights of all subflows that have a rate.
    fn shared(&self) -> f64 {
        let without = self.subflows.iter().filter(|subflow| subflow.is_open && subflow.rate <= 0.0);
        match self.parameters.at_loss {
            AtLoss::Share => (1.0 - without.map(|subflow| subflow.weight).sum::<f64>()).max(0.0),
            AtLoss::Paper | AtLoss::Keep | AtLoss::Least => 1.0,
        }
    }
}

impl WindowControl for Wvegas {
    fn open(&mut self, subflow: usize, _: Time) {
        self.subflows[subflow] = Subflow::new(self.first, self.parameters.alpha, self.subflows.len());
    }

    fn close(&mut self, subflow: usize) {
        let own = &mut self.subflows[subflow];
        (own.is_open, own.rate) = (false, 0.0);
    }

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            let rtt = self.told(rtt);
            self.subflows[subflow].trips.add(rtt);
        }
        let has_room = self.has_room(subflow);
        let own = &mut self.subflows[subflow];
        own.rtt = acked.smoothed;
        if acked.is_recovering {
            own.trips.begin_round();
            return;
        }
        if own.window < own.threshold && own.is_growing && has_room && acked.is_limited {
            own.window = (own.window + f64::from(acked.packets)).min(own.threshold);
        }
        if acked.ends_round {
            self.end_round(subflow, acked);
            let own = &mut self.subflows[subflow];
            own.window = own.window.max(LEAST);
            own.before = if own.trips.samples() > 0 { own.trips.least() } else { 0.0 };
            own.trips.begin_round();
        }
        let own = &mut self.subflows[subflow];
        own.window = own.window.min(MOST_WINDOW);
    }

    fn on_signal(&mut self, subflow: usize, signal: Signal, in_flight: u32, _: Time) {
        let own = &mut self.subflows[subflow];
        // Half of the packets in flight, if they are fewer than the window: an unused window says nothing of the path.
        let window = own.window.min(f64::from(in_flight.max(1)) + 1.0);
        own.threshold = (window / 2.0).max(LEAST);
        own.window = if signal == Signal::Timeout { 1.0 } else { own.threshold };
        own.trips.begin_round();
        own.least_queue = 0.0;
        if self.parameters.at_loss != AtLoss::Keep {
            own.rate = 0.0;
        }
        if self.parameters.at_loss == AtLoss::Least {
            own.alpha = self.parameters.alpha;
        }
    }

    fn on_idle(&mut self, subflow: usize) {
        let own = &mut self.subflows[subflow];
        own.window = own.window.min(self.first);
    }

    fn window(&self, subflow: usize) -> f64 {
        self.subflows[subflow].window
    }

    fn snapshot(&self, subflow: usize) -> Option<SubflowSnapshot> {
        let own = &self.subflows[subflow];
        own.is_open.then_some(SubflowSnapshot {
            window: own.window,
            rtt: own.rtt,
            rank: own.rate,
            is_starting: own.window < own.threshold,
            is_silent: false,
        })
    }

    fn set_remote(&mut self, subflow: usize, snapshot: Option<SubflowSnapshot>) {
        self.subflows[subflow].rate = snapshot.map_or(0.0, |snapshot| snapshot.rank);
    }
}

#[cfg(test)]
#[path = "wvegas_tests.rs"]
mod tests;
