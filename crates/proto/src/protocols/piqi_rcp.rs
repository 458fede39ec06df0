//! PIQI-RCP-like: RCP without the queue, with a memory of the error [jain2007].
//!
//! Every interval T a link updates its rate R by the capacity that is unused, as a share e of it:
//!
//! ```text
//! e <- (g C - y) / (g C)
//! R <- R (1 + kappa e) exp(p (e - e before)),   between the least rate and g C
//! kappa = gain kappa*,   kappa* = T / (2 (T + d))
//! ```
//!
//! C is the capacity, g the share of it to be used, y the load, d the average round trip. The law ignores the queue:
//! what a transient leaves of a queue stays, unless g is less than 1.
//!
//! The equations of the original were not available. Known is that it has a proportional and an integral part, does not
//! depend on the queue, considers recent rates, and bounds kappa by kappa*. With p = 1/2 that bound is just what keeps
//! the loop stable for any mix of round trips: kappa d / T + p < 1 + kappa / 2 is enough, to the first order. The
//! proportional part is an exponential so that R forgets it: with 1 + p (e - e before) instead, the factors of a load
//! that goes up and down multiply to less than 1, and a load that rises by twice the capacity takes R below 0.
//! `history = "mean-rate"` is another reading: R <- (1 + kappa e) times the mean of R over a round trip. Results for
//! these need not hold for the original.
//!
//! `rate_feedback.rs` describes how links measure, what headers carry, and what differs there. The law needs data
//! packets: without them y is 0, and all are offered the capacity. It does not suit few packets in an interval, since R
//! then changes with each.

use std::collections::VecDeque;

use anabranch_core::quantity::{RateText, SpanText};
use anabranch_core::{Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::control::{ConnectionView, LinkControls, SourceControl};
use crate::protocols::capabilities::Capabilities;
use crate::protocols::expect::Expect;
use crate::protocols::rate_feedback::{self, Beginning, Law, Link, Seen, Source};

/// What the protocol can serve.
///
/// With the default p, the rate changes by half of what the load does from one interval to the next.
pub const CAPABILITIES: Capabilities = Capabilities {
    expect: Expect { laxity: 2.0, ..rate_feedback::CAPABILITIES.expect },
    ..rate_feedback::CAPABILITIES
};

/// The most rates that a link remembers.
const MOST_RATES: f64 = 1000.0;

/// Parameters of PIQI-RCP-like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PiqiRcpParameters")]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Gain of the error in an interval, in units of kappa*; over 0 and at most 10.
    #[serde(deserialize_with = "rate_feedback::gain")]
    #[schemars(range(max = 10), extend("exclusiveMinimum" = 0))]
    pub gain: f64,
    /// Gain of changes of the error (p); 0 to 10.
    #[serde(deserialize_with = "rate_feedback::gain_or_none")]
    #[schemars(range(min = 0, max = 10))]
    pub proportional: f64,
    /// Memory of the law: "error-difference"; or "mean-rate", which ignores `proportional`.
    pub history: History,
    /// Share of the capacity that is to be used (g); over 0 and at most 1.
    #[serde(deserialize_with = "rate_feedback::share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub utilisation: f64,
    /// Time between updates of a link (T); 1 us to 100 s.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub interval: SpanText,
    /// First rate of a link as a share of its capacity; over 0 and at most 1.
    #[serde(deserialize_with = "rate_feedback::share")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub start: f64,
    /// Average round trip that a link assumes at the beginning; 1 us to 100 s.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub round_trip: SpanText,
    /// The least rate; 1 to 1e15 bit/s.
    #[serde(deserialize_with = "rate_feedback::least")]
    pub least: RateText,
    /// Time without a header after which a source sends a probe; 1 us to 100 s. Each data packet has a header.
    #[serde(deserialize_with = "rate_feedback::span")]
    pub spacing: SpanText,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            gain: 1.0,
            proportional: 0.5,
            history: History::ErrorDifference,
            utilisation: 1.0,
            interval: SpanText(Span::ms(5)),
            start: 0.05,
            round_trip: SpanText(Span::ms(200)),
            least: RateText(Rate(8000.0)),
            spacing: SpanText(Span::ms(100)),
        }
    }
}

/// Memory of the law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PiqiRcpHistory")]
#[serde(rename_all = "kebab-case")]
pub enum History {
    /// The error of the interval before.
    #[default]
    ErrorDifference,
    /// The mean of the rates of a round trip.
    MeanRate,
}

/// Creates the control of a source.
pub fn source(parameters: &Parameters, connection: &ConnectionView) -> Box<dyn SourceControl> {
    Box::new(Source::new(parameters.spacing, connection))
}

/// Creates the controls of `count` links.
pub fn links(parameters: &Parameters, count: usize) -> Box<dyn LinkControls> {
    let law = PiqiLaw {
        gain: parameters.gain,
        proportional: parameters.proportional,
        interval: parameters.interval.0.seconds(),
        least: parameters.least.0.0,
        room_before: None,
        rates: (parameters.history == History::MeanRate).then(VecDeque::new),
    };
    let beginning = Beginning {
        utilisation: parameters.utilisation,
        rate: parameters.start,
        round_trip: parameters.round_trip.0.seconds(),
    };
    Box::new(Link::all(&law, beginning, count))
}

#[derive(Clone)]
struct PiqiLaw {
    gain: f64,
    proportional: f64,
    interval: f64,
    least: f64,
    room_before: Option<f64>,
    /// Rates of the last round trip, if the law uses their mean.
    rates: Option<VecDeque<f64>>,
}

impl Law for PiqiLaw {
    fn interval(&self, _: f64) -> f64 {
        self.interval
    }

    fn least(&self, _: f64) -> f64 {
        self.least
    }

    fn next(&mut self, rate: f64, seen: &Seen) -> f64 {
        let room = seen.room();
        let kappa = self.gain * self.interval / (2.0 * (self.interval + seen.round_trip));
        let change = room - self.room_before.replace(room).unwrap_or(room);
        let Some(rates) = &mut self.rates else {
            return rate * (1.0 + kappa * room) * (self.proportional * change).exp();
        };
        rates.push_back(rate);
        let most = (seen.round_trip / self.interval + 1.0).min(MOST_RATES) as usize;
        rates.drain(..rates.len().saturating_sub(most));
        rates.iter().sum::<f64>() / rates.len() as f64 * (1.0 + kappa * room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(proportional: f64, rates: Option<VecDeque<f64>>) -> PiqiLaw {
        PiqiLaw { gain: 1.0, proportional, interval: 0.005, least: 8e3, room_before: None, rates }
    }

    /// With a round trip of 20 ms kappa* is 5 / (2 (5 + 20)) = 0.1.
    fn seen(load: f64) -> Seen {
        Seen { capacity: 10e6, load, queue: 1e9, interval: 0.005, round_trip: 0.02 }
    }

    #[test]
    fn a_rate_follows_the_error_and_forgets_its_changes() {
        let mut law = law(0.5, None);
        // Half is left: 5 % more. Then nothing is: no more, but for the change, which is taken back later.
        assert!((law.next(1e6, &seen(5e6)) - 1.05e6).abs() < 1e-6);
        assert!((law.next(1e6, &seen(10e6)) - 1e6 * (-0.25_f64).exp()).abs() < 1e-6);
        assert!((law.next(1e6, &seen(5e6)) - 1.05e6 * 0.25_f64.exp()).abs() < 1e-6);
        assert!((law.next(1e6, &seen(5e6)) - 1.05e6).abs() < 1e-6);
    }

    #[test]
    fn a_rate_may_follow_the_mean_of_a_round_trip() {
        let mut law = law(0.5, Some(VecDeque::new()));
        // 20 / 5 + 1 rates are remembered: of 1 to 6 the last five, 4 on average, and 5 % more.
        let last = (1..=6).map(|rate| law.next(f64::from(rate), &seen(5e6))).last().unwrap();
        assert!((last - 4.2).abs() < 1e-9);
    }
}
