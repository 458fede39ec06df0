//! ABC: links tell the source with each packet to enlarge or reduce its window by about one packet [goyal2020].
//!
//! ```text
//! window += 1 / window + 1      for each packet acknowledged that accelerates
//! window += 1 / window - 1      for each that brakes
//! ```
//!
//! So a round in which every packet accelerates doubles the window, and one in which every packet brakes empties it.
//! The term that both have brings connections to equal shares. The protocol needs links that brake
//! (`discipline = "abc"`): packets leave as ECT(1), which means acceleration, and a mark turns them into brakes.
//!
//! Where another link is the bottleneck, the protocol must not be more aggressive than others: a second window follows
//! CUBIC at losses, and the lesser of the two limits the source. Neither grows beyond twice the packets in flight, so
//! that neither grows without bound while the other limits the source.

use anabranch_core::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::control::ConnectionView;
use crate::protocols::capabilities::{Capabilities, Paths, Sources};
use crate::protocols::{cubic, range};
pub use crate::window::links;
use crate::window::{Acked, MOST_WINDOW, Signal, WindowControl};

/// What the protocol can serve.
pub const CAPABILITIES: Capabilities =
    Capabilities { paths: Paths::One, sources: Sources::ScalableWindows, ..Capabilities::WINDOWS };

/// Packets by which a window may exceed twice the packets in flight.
const HEADROOM: f64 = 5.0;

/// Parameters of ABC sources; the parameters of links stand with the discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AbcParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The least window, in packets, 1 to 100; the authors' code keeps about 5.
    #[serde(deserialize_with = "packets")]
    #[schemars(range(min = 1, max = 100))]
    pub least: f64,
    /// Whether the second window limits the source at losses.
    pub cubic: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { least: 2.0, cubic: true }
    }
}

fn packets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    range::number(1.0..=100.0, deserializer)
}

/// Creates the control of a connection.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn WindowControl> {
    // Slow start ends with a loss here, since a link that brakes may keep a queue.
    let cubic = cubic::Parameters { hystart: false, ..cubic::Parameters::default() };
    let cubic = parameters.cubic.then(|| cubic::source(&cubic, connection));
    let first = connection.first_window;
    Box::new(Abc { least: parameters.least, first, window: first, cubic, has_lost: false })
}

struct Abc {
    least: f64,
    first: f64,
    window: f64,
    /// The second window, and whether it recovers from a loss rather than from a brake.
    cubic: Option<Box<dyn WindowControl>>,
    has_lost: bool,
}

impl Abc {
    /// Grows the second window, unless it far exceeds the packets in flight.
    fn grow_second(&mut self, subflow: usize, acked: &Acked, most: f64) {
        self.has_lost &= acked.is_recovering;
        if let Some(cubic) = &mut self.cubic {
            let is_limited = acked.is_limited && cubic.window(subflow) < most;
            cubic.on_ack(subflow, &Acked { is_limited, is_recovering: self.has_lost, marked: 0, ..*acked });
        }
    }
}

impl WindowControl for Abc {
    fn open(&mut self, subflow: usize, now: Time) {
        self.has_lost = false;
        self.window = self.first.max(self.least);
        if let Some(cubic) = &mut self.cubic {
            cubic.open(subflow, now);
        }
    }

    fn close(&mut self, subflow: usize) {
        if let Some(cubic) = &mut self.cubic {
            cubic.close(subflow);
        }
    }

    fn on_ack(&mut self, subflow: usize, acked: &Acked) {
        let (packets, brakes) = (f64::from(acked.packets), f64::from(acked.marked));
        let most = (2.0 * f64::from(acked.in_flight.0) + HEADROOM).min(MOST_WINDOW);
        let up = packets - 2.0 * brakes + packets / self.window;
        // An unused window is kept but does not grow.
        self.window = (self.window + up).min(most.max(self.window)).max(self.least);
        self.grow_second(subflow, acked, most);
    }

    fn on_signal(&mut self, subflow: usize, signal: Signal, in_flight: u32, now: Time) {
        // Marks are counted when acknowledgements report them.
        if signal == Signal::Mark {
            self.has_lost = false;
            return;
        }
        self.has_lost = true;
        if signal == Signal::Timeout {
            // No packets come back any more that accelerate or brake.
            self.window = self.least;
        }
        if let Some(cubic) = &mut self.cubic {
            cubic.on_signal(subflow, signal, in_flight, now);
        }
    }

    fn on_idle(&mut self, subflow: usize) {
        self.window = self.window.min(self.first.max(self.least));
        if let Some(cubic) = &mut self.cubic {
            cubic.on_idle(subflow);
        }
    }

    fn window(&self, subflow: usize) -> f64 {
        let cubic = self.cubic.as_ref().map_or(f64::INFINITY, |cubic| cubic.window(subflow));
        self.window.min(cubic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use crate::window::testing::{acked, is_near};

    fn abc() -> Box<dyn WindowControl> {
        let mut abc = source(&Parameters { cubic: false, ..Parameters::default() }, &alone());
        abc.open(0, Time(0));
        abc
    }

    fn told(packets: u32, marked: u32) -> Acked {
        Acked { packets, marked, in_flight: (1000, 1000), ..acked(0.1, 0.1) }
    }

    #[test]
    fn an_acceleration_adds_a_packet_and_a_brake_takes_one() {
        // 10 + 1 + 1/10, and 11.1 - 1 + 1/11.1.
        let mut abc = abc();
        abc.on_ack(0, &told(1, 0));
        assert!(is_near(abc.window(0), 11.1));
        abc.on_ack(0, &told(1, 1));
        assert!(is_near(abc.window(0), 10.1 + 1.0 / 11.1));
    }

    #[test]
    fn the_share_that_holds_a_window_is_a_little_less_than_half() {
        // Of 200 packets for two connections f = (200 - 2) / 400 = 0.495: 100 + 49.5 - 50.5 + 1 = 100.
        let mut abc = abc();
        while abc.window(0) < 100.0 {
            abc.on_ack(0, &told(1, 0));
        }
        let before = abc.window(0);
        (0..10).for_each(|_| {
            abc.on_ack(0, &told(200, 101));
        });
        assert!((abc.window(0) - before).abs() < 0.5, "{} {before}", abc.window(0));
    }

    #[test]
    fn it_never_grows_beyond_twice_of_what_is_under_way() {
        let mut abc = abc();
        (0..1000).for_each(|_| abc.on_ack(0, &Acked { in_flight: (20, 19), ..told(1, 0) }));
        assert!(is_near(abc.window(0), 45.0));
    }

    #[test]
    fn brakes_leave_the_least_window() {
        let mut abc = abc();
        (0..1000).for_each(|_| abc.on_ack(0, &told(1, 1)));
        assert!(is_near(abc.window(0), 2.0));
    }

    #[test]
    fn brakes_do_not_keep_the_second_window_from_growing() {
        // All brake at first: 2 packets are left. Then the second window must not stand in the way.
        let mut both = source(&Parameters::default(), &alone());
        both.open(0, Time(0));
        (0..50).for_each(|_| {
            both.on_signal(0, Signal::Mark, 10, Time(0));
            both.on_ack(0, &Acked { is_recovering: true, ..told(1, 1) });
        });
        assert!(is_near(both.window(0), 2.0));
        (0..50).for_each(|_| both.on_ack(0, &Acked { is_recovering: true, ..told(1, 0) }));
        assert!(both.window(0) > 52.0, "{}", both.window(0));
    }

    #[test]
    fn a_loss_is_a_matter_of_the_second_window() {
        let mut both = source(&Parameters::default(), &alone());
        both.open(0, Time(0));
        both.on_signal(0, Signal::Mark, 10, Time(0));
        assert!(is_near(both.window(0), 10.0));
        both.on_signal(0, Signal::Loss, 10, Time(0));
        assert!(is_near(both.window(0), 7.0), "{}", both.window(0));
        let mut abc = abc();
        abc.on_signal(0, Signal::Loss, 10, Time(0));
        assert!(is_near(abc.window(0), 10.0));
    }
}
