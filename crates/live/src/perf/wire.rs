//! The messages of a measurement: JSON, preceded by its length.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::PerfError;
use crate::control::MOST_PATHS;
use crate::paths::PathReport;
use crate::quic::{RecvStream, SendStream};

/// The longest measurement, in seconds.
pub const MOST_SECONDS: f64 = 3600.0;

/// The most bytes of a measurement.
pub const MOST_BYTES: u64 = 1_000_000_000_000;

/// The most streams of a measurement.
pub const MOST_STREAMS: u32 = 16;

/// The most bytes of a message.
pub(super) const MOST_MESSAGE: usize = 4096;

/// The longest time for a peer to send a message, or to accept one.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The longest time for packets in flight to arrive after the sender has stopped.
pub(super) const DRAINING: Duration = Duration::from_secs(20);

/// The end that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The client sends.
    Up,
    /// The server sends.
    Down,
}

/// A client's request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Name of the protocol that controls the sender.
    pub control: String,
    /// The end that sends.
    pub direction: Direction,
    /// Time in seconds after which the sender stops.
    pub seconds: f64,
    /// Amount in bytes after which the sender stops.
    pub bytes: u64,
    /// Number of parallel streams.
    pub streams: u32,
    /// Number in QUIC and group of each path; paths of one group share links. Empty if groups are not known. Changes
    /// follow as [`Conditions`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<(u32, u32)>,
    /// The most that the server may send over all paths, on links, in bit/s. Changes follow as [`Conditions`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bps: Option<f64>,
}

/// New conditions of the paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Conditions {
    /// Number in QUIC and group of each path.
    pub(super) groups: Vec<(u32, u32)>,
    /// The most that may be sent over all paths, on links, in bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) most_bps: Option<f64>,
}

impl Request {
    /// Reads a request, if it is within the limits.
    pub fn read(text: &[u8]) -> Result<Self, PerfError> {
        let request: Self = decode(text)?;
        request.check().map(|()| request)
    }

    /// Checks that a request is within the limits.
    pub(super) fn check(&self) -> Result<(), PerfError> {
        let wrong = |what, asked: String, range: String| Err(PerfError::OutOfRange { what, asked, range });
        if !(self.seconds > 0.0 && self.seconds <= MOST_SECONDS) {
            return wrong(
                "the time",
                format!("{} s", self.seconds),
                format!("more than 0 and at most {MOST_SECONDS} s"),
            );
        }
        if !(1..=MOST_BYTES).contains(&self.bytes) {
            return wrong("the amount", format!("{} bytes", self.bytes), format!("1 to {MOST_BYTES} bytes"));
        }
        if !(1..=MOST_STREAMS).contains(&self.streams) {
            return wrong("the number of streams", self.streams.to_string(), format!("1 to {MOST_STREAMS}"));
        }
        if let Some(bps) = self.most_bps.filter(|bps| !(*bps >= 0.0 && bps.is_finite())) {
            return wrong("the highest rate", format!("{bps} bit/s"), "at least 0 bit/s".to_owned());
        }
        if self.groups.len() > MOST_PATHS {
            return wrong("the number of groups", self.groups.len().to_string(), format!("at most {MOST_PATHS}"));
        }
        Ok(())
    }
}

/// The answer to a request: the reason of a refusal, if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) refusal: Option<String>,
}

/// The result of one end, once all data are sent or received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Done {
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) cpu: Cpu,
    /// Packets sent over all paths.
    #[serde(default)]
    pub(super) packets: u64,
    /// Packets detected as lost.
    #[serde(default)]
    pub(super) lost: u64,
}

impl Done {
    /// Adds the packets that paths have carried between two reports.
    pub(super) fn over(self, before: &[PathReport], after: &[PathReport]) -> Self {
        let grown = |of: fn(&PathReport) -> u64| {
            let sum = |paths: &[PathReport]| paths.iter().map(of).sum::<u64>();
            sum(after).saturating_sub(sum(before))
        };
        Self { packets: grown(|path| path.sent_packets), lost: grown(|path| path.lost_packets), ..self }
    }
}

/// Processor time of a process, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Cpu {
    pub(super) user_s: f64,
    pub(super) system_s: f64,
}

impl Cpu {
    /// Processor time used so far.
    pub(super) fn now() -> Self {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::TimeValLike;
        let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
        getrusage(UsageWho::RUSAGE_SELF).map_or_else(
            |_| Self::default(),
            |usage| Self { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) },
        )
    }

    /// Processor time used since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }
}

/// The error for a connection that ended, with all known causes.
pub(super) fn ended(error: impl std::error::Error) -> PerfError {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let text = deeper.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        cause = deeper.source();
    }
    PerfError::Ended(said)
}

/// Runs an exchange that the peer must complete soon; `wrong` is the error if it does not.
pub(super) async fn timely<T>(wrong: &str, work: impl Future<Output = Result<T, PerfError>>) -> Result<T, PerfError> {
    tokio::time::timeout(PATIENCE, work).await.map_err(|_| PerfError::Unruly(wrong.to_owned()))?
}

/// Sends a message.
pub(super) async fn tell<T: Serialize>(stream: &mut SendStream, message: &T) -> Result<(), PerfError> {
    let text = serde_json::to_vec(message).expect("messages are plain values");
    let length = u32::try_from(text.len()).expect("messages are short");
    stream.write_all(&length.to_be_bytes()).await.map_err(ended)?;
    stream.write_all(&text).await.map_err(ended)
}

/// Reads a message.
pub(super) async fn hear<T: DeserializeOwned>(stream: &mut RecvStream) -> Result<T, PerfError> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.map_err(ended)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MOST_MESSAGE {
        return Err(PerfError::TooLong(length));
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text).await.map_err(ended)?;
    decode(&text)
}

/// Decodes a message.
fn decode<T: DeserializeOwned>(text: &[u8]) -> Result<T, PerfError> {
    serde_json::from_slice(text).map_err(|error| PerfError::Unruly(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_beyond_the_limits_are_refused() {
        let (control, direction, groups, most_bps) = ("lia".to_owned(), Direction::Up, vec![], Some(0.0));
        let good = Request { control, direction, seconds: 1.0, bytes: 1, streams: 1, groups, most_bps };
        assert!(good.check().is_ok());
        for (request, said) in [
            (Request { seconds: 0.0, ..good.clone() }, "the time is 0 s; it must be more than 0 and at most 3600 s"),
            (
                Request { seconds: f64::NAN, ..good.clone() },
                "the time is NaN s; it must be more than 0 and at most 3600 s",
            ),
            (Request { bytes: 0, ..good.clone() }, "the amount is 0 bytes; it must be 1 to 1000000000000 bytes"),
            (Request { streams: 17, ..good.clone() }, "the number of streams is 17; it must be 1 to 16"),
            (
                Request { most_bps: Some(-1.0), ..good.clone() },
                "the highest rate is -1 bit/s; it must be at least 0 bit/s",
            ),
            (Request { groups: vec![(0, 0); 17], ..good.clone() }, "the number of groups is 17; it must be at most 16"),
        ] {
            assert_eq!(request.check().unwrap_err().to_string(), said);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_within_the_limits_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            (seconds, amount, streams) in (any::<f64>(), any::<u64>(), any::<u32>()),
            most_bps in any::<Option<f64>>(),
        ) {
            prop_assert!(Request::read(&bytes).is_err());
            let (control, direction, groups) = (String::new(), Direction::Up, vec![(0, streams)]);
            let asked = Request { control, direction, seconds, bytes: amount, streams, groups, most_bps };
            if let Ok(read) = Request::read(&serde_json::to_vec(&asked).unwrap()) {
                prop_assert!(read.check().is_ok());
                prop_assert_eq!((read.bytes, read.streams), (amount, streams));
            }
        }
    }
}
