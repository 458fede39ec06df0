//! Rounds of a link under s-PERC: when one ends, and how long it is.
//!
//! A link keeps no timer: the first packet after the end of a round ends it. The first packet of all begins the first
//! round.
//!
//! An adaptive round begins with 100 ms. The link looks at the round trips of control packets in windows of 500 ms, or of
//! a round if that is longer, and takes the longest of the present window and of the one before. The round doubles until
//! it is as long as that. It halves if it is more than twice as long, when a window ends and when a packet reports the
//! longest round trip of its window.

use std::borrow::Cow;

use anabranch_core::quantity::SpanText;
use anabranch_core::units::MICROSECOND;
use anabranch_core::{Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The shortest and the longest round, in picoseconds: 1 us to 1000 s.
const ROUNDS: (u64, u64) = (MICROSECOND, 1_000_000_000 * MICROSECOND);

/// Length of the first adaptive round.
const FIRST: Span = Span(100_000 * MICROSECOND);

/// The shortest time for which a link looks for the longest round trip.
const WINDOW: Span = Span(500_000 * MICROSECOND);

/// The word for rounds whose length adapts itself.
const ADAPTIVE: &str = "adaptive";

/// Length of rounds, as a scenario says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Round {
    /// The length follows the longest round trip of control packets.
    #[default]
    Adaptive,
    /// The length is given, 1 us to 1000 s.
    Fixed(SpanText),
}

impl Serialize for Round {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Adaptive => serializer.serialize_str(ADAPTIVE),
            Self::Fixed(length) => length.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Round {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        if text == ADAPTIVE {
            return Ok(Self::Adaptive);
        }
        let read = IntoDeserializer::<de::value::Error>::into_deserializer(text.as_ref());
        let length =
            SpanText::deserialize(read).map_err(|error| de::Error::custom(format!("{error}, or `adaptive`")))?;
        if (ROUNDS.0..=ROUNDS.1).contains(&length.0.0) {
            return Ok(Self::Fixed(length));
        }
        Err(de::Error::custom(format!("it is {}; it must be 1 us to 1000 s, or `adaptive`", length.0)))
    }
}

impl JsonSchema for Round {
    fn schema_name() -> Cow<'static, str> {
        "SPercRound".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A length that follows round trips, or a time with its unit.",
            "examples": [ADAPTIVE, "100 ms"]
        })
    }
}

/// The greatest value of the present window and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Greatest {
    before: u64,
    present: u64,
}

/// The rounds of a link.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    is_adaptive: bool,
    length: Span,
    /// Time at which the round began; `None` before the first packet.
    began: Option<Time>,
    /// Time at which the window began.
    window: Time,
    /// Whether a window has passed, so that every session has been seen.
    has_seen_all: bool,
    /// The longest round trip in picoseconds.
    longest: Greatest,
}

impl Rounds {
    pub fn new(round: Round) -> Self {
        let (is_adaptive, length) = match round {
            Round::Adaptive => (true, FIRST),
            Round::Fixed(SpanText(length)) => (false, length),
        };
        Self { is_adaptive, length, began: None, window: Time(0), has_seen_all: false, longest: Greatest::default() }
    }

    /// The present length of a round.
    #[cfg(test)]
    pub fn length(&self) -> Span {
        self.length
    }

    /// The number of rounds that ended since the last call.
    pub fn ended(&mut self, now: Time) -> u64 {
        let Some(began) = self.began else {
            (self.began, self.window) = (Some(now), now);
            return 0;
        };
        let (ended, began) = passed(began, now, self.length);
        self.began = Some(began);
        ended
    }

    /// Adapts the length to a packet: the round trip of its session is this long.
    pub fn adapt(&mut self, now: Time, round_trip: Span) {
        if !self.is_adaptive {
            return;
        }
        let (windows, began) = passed(self.window, now, WINDOW.max(self.length));
        self.window = began;
        if windows > 0 {
            let before = if windows == 1 { self.longest.present } else { 0 };
            self.longest = Greatest { before, present: 0 };
            self.has_seen_all = true;
            self.resize(before);
        }
        if round_trip.0 > self.longest.present {
            self.longest.present = round_trip.0;
            self.resize(round_trip.0.max(self.longest.before));
        }
    }

    /// Doubles the length until it is as long as the longest round trip, or halves it if it is more than twice as long.
    fn resize(&mut self, longest: u64) {
        while self.length.0 < longest && self.length.0 < ROUNDS.1 {
            self.length.0 = self.length.0.saturating_mul(2).min(ROUNDS.1);
        }
        if self.has_seen_all && longest > 0 && self.length.0 / 2 > longest {
            self.length.0 = (self.length.0 / 2).max(ROUNDS.0);
        }
    }
}

/// How many spans of a length are over at a time, and when the present span began.
fn passed(began: Time, now: Time, length: Span) -> (u64, Time) {
    let since = now.0.saturating_sub(began.0);
    let count = since / length.0.max(1);
    (count, Time(now.0 - since % length.0.max(1)))
}
