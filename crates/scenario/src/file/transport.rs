//! `[run.transport]`: settings of sources and sinks of window protocols.

use anabranch_core::quantity::{BytesText, SpanText};
use anabranch_core::{Bytes, Span};
use anabranch_plan::Transport;
use anabranch_proto::transport::Scheduler;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::words::packet_size;

/// The least timeout of a source before a round trip is known.
const LEAST_FIRST_WAIT: Span = Span::us(1);

/// The most packets for one acknowledgement.
const MOST_EVERY: u32 = 32;

/// The most packets in a first window.
const MOST_FIRST_WINDOW: f64 = 1_048_576.0;

/// The most transmission times of a random wait.
const MOST_JITTER: f64 = 1e6;

/// `[run.transport]`: settings of sources and sinks of window protocols.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransportTable {
    /// Packets in the first window of a subflow, 1 to 1,048,576.
    #[serde(deserialize_with = "first_window")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub first_window: f64,
    /// Least timeout for an acknowledgement, after which a source takes all packets for lost.
    pub least_wait: SpanText,
    /// Timeout before a round trip is known, 1 us or more.
    #[serde(deserialize_with = "first_wait")]
    pub first_wait: SpanText,
    /// Number of packets for each acknowledgement, 1 to 32.
    #[serde(deserialize_with = "ack_every")]
    #[schemars(range(min = 1, max = 32))]
    pub ack_every: u32,
    /// The longest delay of an acknowledgement.
    pub ack_delay: SpanText,
    /// Size of acknowledgements.
    #[serde(deserialize_with = "ack")]
    pub ack: BytesText,
    /// Bytes of data out of order that a sink can keep; no limit if left out.
    pub buffer: Option<BytesText>,
    /// The rule by which the next packet gets its path.
    pub scheduler: Scheduler,
    /// Whether links may mark packets instead of dropping them.
    pub ecn: bool,
    /// Random wait of each data packet at its source against phase effects: the greatest wait, in transmission times of
    /// the slowest link of its path; 0 for none.
    #[serde(deserialize_with = "jitter")]
    #[schemars(range(min = 0, max = 1e6))]
    pub jitter: f64,
}

impl Default for TransportTable {
    fn default() -> Self {
        let Transport {
            first_window,
            least_wait,
            first_wait,
            ack_every,
            ack_delay,
            ack,
            buffer,
            scheduler,
            ecn,
            jitter,
        } = Transport::default();
        Self {
            first_window,
            least_wait: SpanText(least_wait),
            first_wait: SpanText(first_wait),
            ack_every,
            ack_delay: SpanText(ack_delay),
            ack: BytesText(ack),
            buffer: buffer.map(BytesText),
            scheduler,
            ecn,
            jitter,
        }
    }
}

impl TransportTable {
    /// The settings as the simulator takes them.
    pub fn plan(&self) -> Transport {
        Transport {
            first_window: self.first_window,
            least_wait: self.least_wait.0,
            first_wait: self.first_wait.0,
            ack_every: self.ack_every,
            ack_delay: self.ack_delay.0,
            ack: self.ack.0,
            buffer: self.buffer.map(|buffer| buffer.0),
            scheduler: self.scheduler,
            ecn: self.ecn,
            jitter: self.jitter,
        }
    }

    /// The reason why a connection with packets of this size cannot send; `None` if it can.
    pub(crate) fn mistake(&self, packet: Bytes) -> Option<String> {
        let buffer = self.buffer.filter(|buffer| buffer.0 < packet)?;
        Some(format!("buffer is {} B, and packets have {} B; it must hold one", buffer.0.0, packet.0))
    }
}

fn first_window<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let window = f64::deserialize(deserializer)?;
    let message = || format!("first_window is {window}; it must be 1 to 1048576 packets");
    if (1.0..=MOST_FIRST_WINDOW).contains(&window) { Ok(window) } else { Err(D::Error::custom(message())) }
}

/// Reads the timeout before a round trip is known. With a timeout of 0, a source would send a packet again and again at
/// one instant.
fn first_wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpanText, D::Error> {
    let wait = SpanText::deserialize(deserializer)?;
    let message = || format!("first_wait is {}; it must be {LEAST_FIRST_WAIT} or more", wait.0);
    if wait.0 >= LEAST_FIRST_WAIT { Ok(wait) } else { Err(D::Error::custom(message())) }
}

fn ack_every<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let every = i64::deserialize(deserializer)?;
    let count = u32::try_from(every).ok().filter(|n| (1..=MOST_EVERY).contains(n));
    count.ok_or_else(|| D::Error::custom(format!("ack_every is {every}; it must be 1 to 32")))
}

fn ack<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BytesText, D::Error> {
    packet_size(deserializer, 1)
}

fn jitter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let jitter = f64::deserialize(deserializer)?;
    let message = || format!("jitter is {jitter}; it must be 0 to 1e6 transmission times");
    if (0.0..=MOST_JITTER).contains(&jitter) { Ok(jitter) } else { Err(D::Error::custom(message())) }
}
