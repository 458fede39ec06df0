//! Opportunities to send, as traces of cellular links record them [netravali2015, winstein2013].
//!
//! A trace is a list of times in milliseconds. At each of them a link may send a number of bytes, from packets that
//! arrived earlier: several small packets, or a part of a large one. Unused bytes are lost. At the last time the list
//! begins again.

use std::borrow::Cow;
use std::sync::Arc;

use anabranch_core::units::{BITS, MILLISECOND};
use anabranch_core::{Rate, Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// The times of a trace in milliseconds: one or more, in rising order, the last over 0.
///
/// Copies share the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Milliseconds(Arc<[u32]>);

/// The instants at which a link may send, and the bytes that it may send at each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// The instants.
    pub times: Milliseconds,
    /// Bytes at each instant, 1 or more.
    pub bytes: u32,
}

impl Milliseconds {
    /// Takes a list of times.
    ///
    /// # Errors
    /// Returns the index of the first mistake, from 0, and its description.
    pub fn new(times: Vec<u32>) -> Result<Self, (usize, String)> {
        if let Some(place) = times.windows(2).position(|pair| pair[1] < pair[0]) {
            let (before, bad) = (times[place], times[place + 1]);
            return Err((place + 1, format!("{bad} ms follows {before} ms; sort them, so that no time decreases")));
        }
        match times.last() {
            None => Err((0, "there is no opportunity to send; give one millisecond or more".to_owned())),
            Some(0) => {
                let reason = "the last opportunity is at 0 ms, and there the trace begins again; give a later one";
                Err((times.len() - 1, reason.to_owned()))
            }
            Some(_) => Ok(Self(times.into())),
        }
    }

    /// The times of the list, in milliseconds.
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// The period of the list, in picoseconds.
    pub fn period(&self) -> u64 {
        u64::from(*self.0.last().expect("it has one or more")) * MILLISECOND
    }

    /// The time of an opportunity by its number in the list, in picoseconds from the start of the list.
    pub fn at(&self, number: usize) -> u64 {
        u64::from(self.0[number]) * MILLISECOND
    }

    /// The number of opportunities in the list that are at most this many picoseconds from its start.
    pub fn until(&self, picoseconds: u64) -> usize {
        self.0.partition_point(|&ms| u64::from(ms) * MILLISECOND <= picoseconds)
    }

    /// The number of opportunities from 0 to a time, both included, with repetitions of the list.
    fn count(&self, time: u64) -> u64 {
        time / self.period() * self.0.len() as u64 + self.until(time % self.period()) as u64
    }
}

impl Opportunities {
    /// The rates in the bins of a run, each with the start of its bin; bins with the same rate as the bin before are
    /// left out.
    ///
    /// An opportunity at the border of two bins serves packets of the first, and counts there; one at time 0 serves
    /// nothing.
    pub fn rates(&self, bin: Span, duration: Span) -> Vec<(Time, Rate)> {
        let bits = f64::from(self.bytes) * BITS;
        let mut rates: Vec<(Time, Rate)> = Vec::new();
        let (mut from, mut counted) = (0, self.times.count(0));
        while from <= duration.0 {
            let until = from.saturating_add(bin.0);
            let count = self.times.count(until);
            let rate = Rate((count - counted) as f64 * bits / bin.seconds());
            if rates.last().is_none_or(|last| last.1 != rate) {
                rates.push((Time(from), rate));
            }
            (from, counted) = (until, count);
        }
        rates
    }

    /// The rate over a window that ends at `time`, which is included; only the first `first` opportunities of all
    /// rounds count.
    pub fn rate(&self, time: Time, window: Span, first: u64) -> Rate {
        let before = time.0.checked_sub(window.0).map_or(0, |from| self.times.count(from));
        let count = self.times.count(time.0).min(first).saturating_sub(before);
        let bits = count as f64 * f64::from(self.bytes) * BITS;
        Rate(bits / window.seconds())
    }
}

impl Serialize for Milliseconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Milliseconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let times = Vec::<u32>::deserialize(deserializer)?;
        Self::new(times).map_err(|(place, reason)| D::Error::custom(format!("number {}: {reason}", place + 1)))
    }
}

impl JsonSchema for Milliseconds {
    fn schema_name() -> Cow<'static, str> {
        "Milliseconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "description": "Whole milliseconds, none before the last; at the last, which is over 0, they begin again.",
            "items": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
            "minItems": 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opportunities(times: &[u32]) -> Opportunities {
        Opportunities { times: Milliseconds::new(times.to_vec()).unwrap(), bytes: 1500 }
    }

    fn rates(times: &[u32], bin: u64, duration: u64) -> Vec<(u64, f64)> {
        let rates = opportunities(times).rates(Span(bin * MILLISECOND), Span(duration * MILLISECOND));
        rates.into_iter().map(|(time, rate)| (time.0 / MILLISECOND, rate.0 / 1e6)).collect()
    }

    #[test]
    fn the_rate_of_a_while_is_that_of_the_opportunities_in_it() {
        // From 3 ms, which is left out, to 7 ms: those at 5, 6 and 7 ms of 5, 6, 7, so 36,000 bits in 4 ms. To 2 ms none.
        let trace = opportunities(&[1, 2, 5]);
        let rate = |until: u64, first| trace.rate(Time(until * MILLISECOND), Span(4 * MILLISECOND), first).0 / 1e6;
        let is = |until, first, wanted: f64| (rate(until, first) - wanted).abs() < 1e-9;
        assert!(is(0, 9, 0.0) && is(1, 9, 3.0) && is(7, 9, 9.0));
        // The fourth is that at 6 ms.
        assert!(is(7, 4, 6.0) && is(7, 0, 0.0));
    }

    #[test]
    fn a_trace_of_one_millisecond_is_a_constant_rate() {
        // 1,500 bytes a millisecond.
        assert_eq!(rates(&[1], 20, 100_000), [(0, 12.0)]);
    }

    #[test]
    fn a_bin_has_the_rate_of_its_opportunities_and_of_those_at_its_end() {
        // In 10 ms each: 2, none, 1, and 2 with that at 0 of the next round; one would be 1.2 Mbit/s.
        let times = [0, 3, 10, 30, 40];
        assert_eq!(rates(&times, 10, 39), [(0, 2.4), (10, 0.0), (20, 1.2), (30, 2.4)]);
        // The next round is the same, and the end of one and the beginning of the next are bins of one rate.
        assert_eq!(rates(&times, 10, 80)[3..], [(30, 2.4), (50, 0.0), (60, 1.2), (70, 2.4)]);
    }

    #[test]
    fn a_list_that_decreases_ends_at_0_or_is_empty_is_refused() {
        let refused = |times: &[u32]| Milliseconds::new(times.to_vec()).unwrap_err();
        assert_eq!(refused(&[1, 5, 4]).0, 2);
        assert!(refused(&[1, 5, 4]).1.contains("4 ms follows 5 ms"));
        assert!(refused(&[0, 0]).1.contains("at 0 ms"));
        assert!(refused(&[]).1.contains("no opportunity"));
    }
}
