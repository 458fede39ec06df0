//! Copa: a rate inverse to the queueing delay, so that each connection keeps two packets in queues [arun2018].
//!
//! ```text
//! target  = 1 / (delta queueing)      packets a second,  queueing = standing - least round trip
//! window += velocity / (delta window)    for each packet acknowledged, if window / standing <= target
//! window -= velocity / (delta window)    otherwise
//! ```
//!
//! The standing round trip is the least of the last half of a round trip; the least round trip is that of ten seconds.
//! The velocity doubles once a round trip after the window has moved in one direction for three, and returns to 1 when
//! the direction changes. Packets are sent at twice the window in a standing round trip. The window doubles in a round
//! trip until the rate exceeds the target.
//!
//! Among Copa connections the queue empties about every five round trips. If it does not for ten, another protocol
//! fills it: then, in competitive mode, 1 / delta grows by one in a round trip and halves at a loss, as Reno's window
//! does. Otherwise losses change nothing.
//!
//! differs: the velocity is at most delta times the window, so that the window at most doubles in a round trip. It
//! returns to 1 as soon as the direction changes. On the way down, half of the packets that wait beyond the target
//! leave in one round trip, at once. In the paper both directions have the same velocity, which returns to 1 at the end
//! of the round trip in which the direction changes: this late, the window overshoots as far again, and after some
//! starts it oscillates by fifty packets for ever.
//!
//! differs: a queue counts as empty with one of the connection's own packets or fewer in it, if that is more than the
//! tenth of the paper. Round trips of slow start do not count as those in which the queue did not empty. The queue must
//! empty within ten round trips, where the paper has five, the length of the oscillation itself. Otherwise a connection
//! alone on a slow link takes its own queue for that of others, competes with itself, and never stops. Several
//! connections that start at once and fill a queue together may still do so.

use anabranch_core::{Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths};
use crate::protocols::range;
pub use crate::window::links;
use crate::window::{Acked, MOST_WINDOW, PACES, Recent, Signal, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities = Capabilities { paths: Paths::Each, ..Capabilities::WINDOWS };

/// The least window, in packets.
const LEAST: f64 = 2.0;

/// Time for which the least round trip counts, in seconds [arun2018, sec. 2].
const LEAST_SPAN: f64 = 10.0;

/// Round trips for which the standing round trip counts.
const STANDING_SPAN: f64 = 0.5;

/// Round trips for which the greatest one counts.
const MOST_SPAN: f64 = 4.0;

/// Share of the greatest queueing delay below which a queue is empty.
const EMPTY: f64 = 0.1;

/// Round trips within which a queue must be empty once: twice those of an oscillation.
const PATIENCE: f64 = 10.0;

/// Round trips in one direction before the velocity doubles.
const STEADY: u32 = 3;

/// Share of the packets waiting beyond the target that leaves in a round trip.
const DRAIN: f64 = 0.5;

/// Factor of the sending rate over window divided by round trip.
const HASTE: f64 = 2.0;

/// Parameters of Copa; the defaults are those of the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CopaParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// One over the packets that are to wait in queues (delta), 1e-3 to 1 [arun2018, sec. 2].
    #[serde(deserialize_with = "delta")]
    #[schemars(range(min = 1e-3, max = 1))]
    pub delta: f64,
    /// Whether the control detects other protocols that fill queues, and competes with them [arun2018, sec. 2.2].
    pub competitive: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { delta: 0.5, competitive: true }
    }
}

fn delta<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1e-3..=1.0, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    let packet = 8.0 * connection.packet.0 as f64;
    Box::new(Copa::new(parameters.clone(), packet, connection.first_window))
}

struct Copa {
    parameters: Parameters,
    /// Packet size in bits.
    packet: f64,
    first: f64,
    window: f64,
    is_starting: bool,
    /// Packets that are to wait in queues: 1 / delta.
    waiting: f64,
    course: Course,
    standing: Recent,
    least: Recent,
    most: Recent,
    /// Time in seconds by which the queue must be empty again; otherwise another protocol fills it.
    must_empty: Option<f64>,
    is_competing: bool,
    has_lost: bool,
}

/// The direction of the window.
#[derive(Clone, Copy, Debug)]
struct Course {
    velocity: f64,
    /// Whether the window grew in the last round, and the rounds before it in the same direction.
    grows: bool,
    steady: u32,
    /// Window at the beginning of this round.
    began: f64,
}

impl Course {
    fn new(window: f64) -> Self {
        Self { velocity: 1.0, grows: true, steady: 0, began: window }
    }

    /// Updates the velocity: 1 after a change of direction, and at most a doubling of the window in a round trip.
    fn steer(&mut self, grows: bool, window: f64, waiting: f64) -> f64 {
        if grows != self.grows && self.velocity > 1.0 {
            *self = Self { grows, ..Self::new(window) };
        }
        self.velocity = self.velocity.min(window / waiting).max(1.0);
        self.velocity
    }

    fn end_round(&mut self, window: f64) {
        let grows = window > self.began;
        self.steady = if grows == self.grows { self.steady + 1 } else { 0 };
        self.velocity = match self.steady {
            0 => 1.0,
            STEADY.. => self.velocity * 2.0,
            _ => self.velocity,
        };
        (self.grows, self.began) = (grows, window);
    }
}

impl Copa {
    fn new(parameters: Parameters, packet: f64, first: f64) -> Self {
        Self {
            packet,
            first,
            window: first,
            is_starting: true,
            waiting: 1.0 / parameters.delta,
            course: Course::new(first),
            standing: Recent::default(),
            least: Recent::default(),
            most: Recent::default(),
            must_empty: None,
            is_competing: false,
            has_lost: false,
            parameters,
        }
    }

    /// Adds a round trip, and returns the queueing delay in seconds.
    fn queueing(&mut self, now: f64, rtt: f64, smoothed: f64) -> f64 {
        self.standing.add(now, rtt, STANDING_SPAN * smoothed);
        self.least.add(now, rtt, LEAST_SPAN);
        self.most.add(now, rtt, MOST_SPAN * smoothed);
        let least = self.least.least();
        let queueing = (self.standing.least() - least).max(0.0);
        let of_a_packet = self.standing.least() / self.window;
        let is_empty = queueing <= of_a_packet.max(EMPTY * (self.most.most() - least));
        let by = self.must_empty.filter(|_| !self.is_starting && !is_empty).unwrap_or(now + PATIENCE * smoothed);
        self.must_empty = Some(by);
        self.is_competing = self.parameters.competitive && now > by;
        if !self.is_competing {
            self.waiting = 1.0 / self.parameters.delta;
        }
        queueing
    }

    fn end_round(&mut self) {
        self.course.end_round(self.window);
        if self.is_competing && !self.has_lost {
            self.waiting = (self.waiting + 1.0).min(MOST_WINDOW);
        }
        self.has_lost = false;
    }
}

impl WindowControl for Copa {
    fn open(&mut self, _: usize, _: Time) {
        *self = Self::new(self.parameters.clone(), self.packet, self.first);
    }

    fn close(&mut self, _: usize) {}

    fn on_ack(&mut self, _: usize, acked: &Acked) {
        let Some(rtt) = acked.rtt else { return };
        let now = acked.now.seconds();
        let queueing = self.queueing(now, rtt, acked.smoothed);
        // Paced packets may not have filled the window yet.
        let is_limited = acked.is_limited || 2.0 * f64::from(acked.in_flight.0) > self.window;
        let own = self.window / self.standing.least() * queueing;
        let is_under = own <= self.waiting;
        let packets = f64::from(acked.packets);
        if self.is_starting && is_under {
            self.window += if is_limited { packets } else { 0.0 };
        } else {
            self.is_starting = false;
            let velocity = self.course.steer(is_under, self.window, self.waiting);
            if !is_under {
                self.window -= packets / self.window * self.waiting.max(DRAIN * (own - self.waiting));
            } else if is_limited {
                self.window += packets / self.window * self.waiting * velocity;
            }
        }
        self.window = self.window.clamp(LEAST, MOST_WINDOW);
        if acked.ends_round {
            self.end_round();
        }
    }

    fn on_signal(&mut self, _: usize, signal: Signal, _: u32, _: Time) {
        self.has_lost = true;
        if self.is_competing {
            self.waiting = (self.waiting / 2.0).max(1.0 / self.parameters.delta);
        }
        if signal == Signal::Timeout {
            (self.window, self.course, self.is_starting) = (LEAST, Course::new(LEAST), true);
        }
    }

    fn on_idle(&mut self, _: usize) {
        self.window = self.window.min(self.first);
        (self.course, self.must_empty) = (Course::new(self.window), None);
    }

    fn window(&self, _: usize) -> f64 {
        self.window
    }

    fn pace(&self, _: usize) -> Option<Rate> {
        let standing = self.standing.least();
        let pace = HASTE * self.window / standing;
        standing.is_finite().then(|| Rate(self.packet * pace.clamp(*PACES.start(), *PACES.end())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use crate::window::testing::{ToyLink, acked, is_near, is_within};

    const LINK: ToyLink = ToyLink { rate: 1000.0, delay: 0.05, packet: 8000.0 };

    #[test]
    fn two_and_a_half_packets_wait_in_the_mean() {
        // The queue swings between nothing and 2.5 / delta = 5 packets [arun2018, sec. 3].
        let mut control = source(&Parameters::default(), &alone());
        let mean = LINK.mean_queue(control.as_mut(), 10.0, 100.0);
        assert!(is_within(mean, 2.5, 0.2), "{mean}");
    }

    #[test]
    fn it_fills_a_link_of_its_own() {
        let mut control = source(&Parameters::default(), &alone());
        let (mut packets, mut most) = (0, 0.0_f64);
        LINK.run(control.as_mut(), 100.0, |seen| {
            if seen.now > 10.0 {
                packets += 1;
                most = most.max(seen.queue);
            }
        });
        assert!(is_within(f64::from(packets), 90_000.0, 0.01) && most < 20.0, "{packets} {most}");
    }

    #[test]
    fn a_queue_that_never_empties_makes_it_compete() {
        let mut copa = Copa::new(Parameters::default(), 8000.0, 10.0);
        // Round trips between 100 and 200 ms, the least once at the beginning.
        copa.on_ack(0, &acked(0.0, 0.1));
        for round in 1..=25 {
            let now = 0.2 * f64::from(round);
            for (now, rtt, ends_round) in [(now, 0.18, false), (now + 0.1, 0.2, true)] {
                copa.on_ack(0, &Acked { ends_round, smoothed: 0.2, ..acked(now, rtt) });
            }
        }
        // Slow start ends at 0.2 s. Ten round trips of 200 ms go by, then 1 / delta grows by one in each: at 2.3, 2.5 up
        // to 5.1 s.
        assert!(copa.is_competing && is_near(copa.waiting, 2.0 + 15.0), "{}", copa.waiting);
        copa.on_signal(0, Signal::Loss, 10, Time(0));
        assert!(is_near(copa.waiting, 8.5));
        // Back to delta once it empties.
        copa.on_ack(0, &Acked { smoothed: 0.2, ..acked(5.2, 0.1) });
        copa.on_ack(0, &Acked { smoothed: 0.2, ..acked(5.3, 0.1) });
        assert!(!copa.is_competing && is_near(copa.waiting, 2.0));
    }

    #[test]
    fn losses_alone_change_nothing() {
        let mut copa = Copa::new(Parameters::default(), 8000.0, 10.0);
        copa.on_signal(0, Signal::Loss, 10, Time(0));
        assert!(is_near(copa.window(0), 10.0));
        copa.on_signal(0, Signal::Timeout, 10, Time(0));
        assert!(is_near(copa.window(0), 2.0));
    }
}
