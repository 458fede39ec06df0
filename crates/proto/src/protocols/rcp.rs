//! RCP, the Rate Control Protocol: links offer one rate to all, corrected by load and queue [dukkipati2005].
//!
//! Every interval T a link updates its rate R by the load y and the queue Q:
//!
//! ```text
//! R <- R (1 + T / d (alpha (g C - y) - beta Q / d) / (g C)),   between the least rate and g C,    T = min(d, T0)
//! ```
//!
//! C is the capacity, g the share of it to be used, d the average round trip. Unused capacity is granted within about 1
//! / alpha round trips, to C / R flows; a queue is drained within about 1 / beta. Every connection gets R from its
//! first packet on, also when R is too much for their number: then queues grow until links react.
//!
//! `rate_feedback.rs` describes how links measure, what headers carry, and what differs there. The law needs data
//! packets: without them y is 0, and all are offered the capacity. Where flows send their packets in bursts, Q is never
//! quite 0, and R settles where alpha (g C - y) = beta Q / d: to fill a link, a round trip must hold many packets.

use anabranch_core::Span;
use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::control::{ConnectionView, LinkControls, SourceControl};
use crate::protocols::capabilities::Capabilities;
use crate::protocols::expect::Expect;
pub use crate::protocols::rate_feedback::Probe;
use crate::protocols::rate_feedback::{self, Beginning, Law, Link, Seen, Source};

/// What the protocol can serve.
///
/// A link assumes a round trip of 0.2 s and 5 % of its capacity at the beginning, and adds a tenth of the unused
/// capacity in a round trip. A tenth of the unused capacity balances the whole queue, and packets sent in step always
/// wait for each other.
pub const CAPABILITIES: Capabilities = Capabilities {
    expect: Expect { settles_s: 20.0, laxity: 3.0, ..rate_feedback::CAPABILITIES.expect },
    ..rate_feedback::CAPABILITIES
};

/// Bits of the packet in which the least rate is counted.
const PACKET: f64 = 8000.0;

/// Parameters of RCP; the defaults are those of the paper, except `spacing`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RcpParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Part of the unused capacity that is granted in a round trip (alpha); over 0 and at most 10.
    #[serde(deserialize_with = "rate_feedback::gain")]
    #[schemars(range(max = 10), extend("exclusiveMinimum" = 0))]
    pub alpha: f64,
    /// Part of the queue that is drained in a round trip (beta); 0 to 10.
    #[serde(deserialize_with = "rate_feedback::gain_or_none")]
    #[schemars(range(min = 0, max = 10))]
    pub beta: f64,
    /// Share of the capacity that is to be used (g); over 0 and at most 1.
    #[serde(deserialize_with = "rate_feedback::share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub utilisation: f64,
    /// The longest time between updates of a link (T0); 1 us to 100 s. The average round trip if that is less.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub interval: SpanText,
    /// First rate of a link as a share of its capacity (R(0)); over 0 and at most 1.
    #[serde(deserialize_with = "rate_feedback::share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub start: f64,
    /// Average round trip that a link assumes at the beginning (d(0)); 1 us to 100 s.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub round_trip: SpanText,
    /// Least rate in packets of 1,000 bytes in a round trip; 1e-6 to 1e3.
    #[serde(deserialize_with = "least_packets")]
    #[schemars(range(min = 1e-6, max = 1e3))]
    pub least_packets: f64,
    /// Time without a header after which a source sends a probe; 1 us to 100 s. Each data packet has a header.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub spacing: SpanText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            alpha: 0.1,
            beta: 1.0,
            utilisation: 1.0,
            interval: SpanText(Span::ms(10)),
            start: 0.05,
            round_trip: SpanText(Span::ms(200)),
            least_packets: 0.01,
            spacing: SpanText(Span::ms(100)),
        }
    }
}

fn least_packets<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    let is_good = (1e-6..=1e3).contains(&value);
    if is_good { Ok(value) } else { Err(de::Error::custom(format!("it is {value}; it must be 1e-6 to 1e3"))) }
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(Source::new(parameters.spacing, connection))
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    let law = RcpLaw {
        alpha: parameters.alpha,
        beta: parameters.beta,
        interval: parameters.interval.0.seconds(),
        least_packets: parameters.least_packets,
    };
    let beginning = Beginning {
        utilisation: parameters.utilisation,
        rate: parameters.start,
        round_trip: parameters.round_trip.0.seconds(),
    };
    Box::new(Link::all(&law, beginning, count))
}

#[derive(Clone)]
struct RcpLaw {
    alpha: f64,
    beta: f64,
    interval: f64,
    least_packets: f64,
}

impl Law for RcpLaw {
    fn interval(&self, round_trip: f64) -> f64 {
        self.interval.min(round_trip)
    }

    fn least(&self, round_trip: f64) -> f64 {
        self.least_packets * PACKET / round_trip
    }

    fn next(&mut self, rate: f64, seen: &Seen) -> f64 {
        let fills = self.alpha * seen.room();
        let drains = self.beta * seen.queue / seen.round_trip / seen.capacity;
        rate * (1.0 + seen.interval / seen.round_trip * (fills - drains))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_capacity_is_handed_out_and_queues_are_drained() {
        let mut law = RcpLaw { alpha: 0.1, beta: 1.0, interval: 0.01, least_packets: 0.01 };
        let seen = |load, queue| Seen { capacity: 10e6, load, queue, interval: 0.01, round_trip: 0.1 };
        // A tenth of the half that is left, in a tenth of a round trip: 0.5 % more.
        assert!((law.next(1e6, &seen(5e6, 0.0)) - 1.005e6).abs() < 1e-6);
        // Half of what a round trip carries waits: a tenth of that less.
        assert!((law.next(1e6, &seen(10e6, 0.5e6)) - 0.95e6).abs() < 1e-6);
        // A hundredth of 8,000 bits in 0.1 s.
        assert!((law.least(0.1) - 800.0).abs() < 1e-9 && (law.interval(0.004) - 0.004).abs() < 1e-12);
    }
}
