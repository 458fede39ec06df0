//! Snapshots of subflows, exchanged between the senders of one file through its receiver: each sender reports its own,
//! and receives those of all others. Each message is complete, so a lost message costs only time.
//!
//! ```text
//! kind  sequence  subflows   then for each subflow   number  window  rtt  rank  state
//!  1       8         1                                  4       4     4     4     1
//! ```
//!
//! Windows, round trips and ranks are floats. Of the state, bit 0 means slow start, and bit 1 means silent.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anabranch_proto::window::SubflowSnapshot;

use super::MessageError;
use crate::control::MOST_REMOTE;

/// Bytes before the first subflow, and bytes of each subflow.
const SIZES: (usize, usize) = (10, 17);

/// Parts by which a window and a round trip must change to be news.
const NEWS: (f64, f64) = (0.01, 0.1);

/// Time between messages without news, since the last message may be lost. A path that sends nothing else is idle in
/// between, so it begins anew with a small window.
const REPEAT: Duration = Duration::from_millis(400);

/// Age at which snapshots are out of date. It is longer than the time until a dead path, on which messages may travel,
/// is given up.
pub(super) const STALE: Duration = Duration::from_millis(3200);

/// Number of latest messages whose contents are kept: those of a second, or of a longer time with less news.
const KEPT: usize = 64;

/// Bits of the state.
const STARTING: u8 = 1;
const SILENT: u8 = 2;

/// Snapshots of subflows in one message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshots {
    /// Sequence number; later messages have greater numbers.
    pub sequence: u64,
    /// Number and state of each subflow. For a sender's own subflows it is the number of the path in QUIC, for remote
    /// subflows that of the group of paths that share links.
    pub subflows: Vec<(u32, SubflowSnapshot)>,
}

impl Snapshots {
    /// Encodes the message after a kind.
    pub(super) fn encode(&self, kind: u8) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZES.0 + SIZES.1 * self.subflows.len());
        bytes.push(kind);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.push(self.subflows.len() as u8);
        for (number, snapshot) in &self.subflows {
            bytes.extend(number.to_be_bytes());
            for value in [snapshot.window, snapshot.rtt, snapshot.rank] {
                bytes.extend((value as f32).to_be_bytes());
            }
            bytes.push(u8::from(snapshot.is_starting) * STARTING + u8::from(snapshot.is_silent) * SILENT);
        }
        bytes
    }

    /// Decodes a message after its kind.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let found = bytes.len();
        let Some((head, rest)) = bytes.split_at_checked(SIZES.0) else {
            return Err(MessageError::Size { found, wanted: SIZES.0 });
        };
        let count = usize::from(head[9]);
        let wanted = SIZES.0 + SIZES.1 * count;
        if count > MOST_REMOTE {
            return Err(MessageError::Subflows(count));
        }
        if found != wanted {
            return Err(MessageError::Size { found, wanted });
        }
        let sequence = u64::from_be_bytes(head[1..9].try_into().expect("these are 8 bytes"));
        let subflows = rest.chunks_exact(SIZES.1).map(subflow).collect::<Option<_>>().ok_or(MessageError::Number)?;
        Ok(Self { sequence, subflows })
    }
}

/// Decodes a subflow of 17 bytes; `None` if a number is NaN or the state is unknown.
fn subflow(bytes: &[u8]) -> Option<(u32, SubflowSnapshot)> {
    let four = |at: usize| -> [u8; 4] { bytes[at..at + 4].try_into().expect("these are 4 bytes") };
    let float =
        |at: usize| Some(f32::from_be_bytes(four(at))).filter(|value| value.is_finite() && !value.is_sign_negative());
    let state = Some(bytes[16]).filter(|state| *state <= STARTING + SILENT)?;
    let snapshot = SubflowSnapshot {
        window: float(4)?.into(),
        rtt: float(8)?.into(),
        rank: float(12)?.into(),
        is_starting: state & STARTING > 0,
        is_silent: state & SILENT > 0,
    };
    Some((u32::from_be_bytes(four(0)), snapshot))
}

/// The last message: its time, its subflows, and the sequence number of the peer's snapshots by then.
type Last = (Instant, Vec<(u32, SubflowSnapshot)>, u64);

/// The messages that were sent, with their times.
#[derive(Debug, Default)]
pub(crate) struct SentSnapshots {
    sequence: u64,
    last: Option<Last>,
    /// Sequence numbers and subflows of the latest messages.
    kept: VecDeque<(u64, Vec<(u32, SubflowSnapshot)>)>,
}

impl SentSnapshots {
    /// The next message on these subflows, if one is due. `heard` is the sequence number of the peer's latest
    /// snapshots; a change of it is news while a subflow is in slow start.
    pub fn next(&mut self, now: Instant, subflows: Vec<(u32, SubflowSnapshot)>, heard: u64) -> Option<Snapshots> {
        let is_starting = subflows.iter().any(|(_, snapshot)| snapshot.is_starting);
        let is_due = |(at, last, before): &Last| {
            now >= *at + REPEAT || is_news(last, &subflows) || (is_starting && *before != heard)
        };
        if !self.last.as_ref().is_none_or(is_due) {
            return None;
        }
        self.sequence += 1;
        self.last = Some((now, subflows.clone(), heard));
        self.kept.push_back((self.sequence, subflows.clone()));
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
        Some(Snapshots { sequence: self.sequence, subflows })
    }

    /// Number and window of each subflow in the snapshots that were sent under a sequence number, in packets; empty if
    /// these snapshots are no longer kept.
    pub fn windows(&self, sequence: u64) -> Vec<(u32, f64)> {
        let kept = self.kept.iter().find(|(kept, _)| *kept == sequence);
        let windows = |(_, subflows): &(u64, Vec<(u32, SubflowSnapshot)>)| {
            subflows.iter().map(|&(number, snapshot)| (number, snapshot.window)).collect()
        };
        kept.map_or_else(Vec::new, windows)
    }
}

/// Whether the states of subflows have changed enough to report.
fn is_news(before: &[(u32, SubflowSnapshot)], now: &[(u32, SubflowSnapshot)]) -> bool {
    let differs = |a: f64, b: f64, part: f64| (a - b).abs() > part * a;
    let is_other = |((number, old), (now_number, new)): (&(u32, SubflowSnapshot), &(u32, SubflowSnapshot))| {
        number != now_number
            || (old.is_starting, old.is_silent) != (new.is_starting, new.is_silent)
            || differs(old.window, new.window, NEWS.0)
            || differs(old.rtt, new.rtt, NEWS.1)
    };
    before.len() != now.len() || before.iter().zip(now).any(is_other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn snapshot() -> impl Strategy<Value = SubflowSnapshot> {
        let number = || (0.0..f32::MAX).prop_map(f64::from);
        (number(), number(), number(), any::<bool>(), any::<bool>()).prop_map(
            |(window, rtt, rank, is_starting, is_silent)| SubflowSnapshot { window, rtt, rank, is_starting, is_silent },
        )
    }

    #[test]
    fn what_tells_of_no_subflows_is_refused() {
        let snapshot = SubflowSnapshot { window: 10.0, rtt: 0.05, rank: 0.0, is_starting: true, is_silent: false };
        let good = Snapshots { sequence: 1, subflows: vec![(3, snapshot)] }.encode(2);
        assert_eq!(good.len(), 27);
        let refused = |bytes: &[u8]| Snapshots::decode(bytes).unwrap_err().to_string();
        assert_eq!(refused(&good[..26]), "a message of 26 bytes that must have 27");
        assert_eq!(refused(&[]), "a message of 0 bytes that must have 10");
        let with = |at: usize, byte: u8| [&good[..at], &[byte], &good[at + 1..]].concat();
        assert_eq!(refused(&with(9, 33)), "a message on 33 subflows; it may be 32 at most");
        for (at, byte) in [(26, 4), (14, 0x80), (18, 0xff)] {
            assert_eq!(refused(&with(at, byte)), "a message with a number that is none", "{at}");
        }
    }

    #[test]
    fn it_is_told_when_there_is_news_and_again_after_a_while() {
        let at =
            |window: f64, rtt: f64| SubflowSnapshot { window, rtt, rank: 0.0, is_starting: false, is_silent: false };
        let (mut told, begin) = (SentSnapshots::default(), Instant::now());
        let mut tells = |ms: u64, subflows: &[(u32, SubflowSnapshot)]| {
            let told = told.next(begin + Duration::from_millis(ms), subflows.to_vec(), 0);
            told.map(|told| told.sequence)
        };
        assert_eq!(tells(0, &[(0, at(10.0, 0.0))]), Some(1));
        assert_eq!(tells(20, &[(0, at(10.0, 0.1))]), Some(2), "the first round trip");
        assert_eq!(tells(40, &[(0, at(10.05, 0.105))]), None);
        assert_eq!(tells(60, &[(0, at(10.2, 0.105))]), Some(3), "another window");
        assert_eq!(tells(80, &[(1, at(10.2, 0.105))]), Some(4), "another number");
        assert_eq!(tells(479, &[(1, at(10.2, 0.105))]), None);
        assert_eq!(tells(480, &[(1, at(10.2, 0.105))]), Some(5), "it may have been lost");
        assert_eq!(tells(481, &[]), Some(6), "it is gone");
    }

    #[test]
    fn that_something_was_heard_is_news_as_long_as_a_subflow_is_in_slow_start() {
        let (mut told, begin) = (SentSnapshots::default(), Instant::now());
        let mut tells = |window: f64, is_starting: bool, heard: u64| {
            let snapshot = SubflowSnapshot { window, rtt: 0.1, rank: 0.0, is_starting, is_silent: false };
            told.next(begin, vec![(7, snapshot)], heard).is_some()
        };
        assert_eq!([tells(10.0, true, 1), tells(10.0, true, 1), tells(10.0, true, 2)], [true, false, true]);
        assert_eq!([tells(10.0, false, 3), tells(10.0, false, 4)], [true, false], "it has left slow start");
        assert_eq!((told.windows(1), told.windows(9)), (vec![(7, 10.0)], vec![]));
    }

    proptest! {
        #[test]
        fn snapshots_are_read_as_they_were_written(
            sequence in any::<u64>(),
            subflows in prop::collection::vec((any::<u32>(), snapshot()), 0..=MOST_REMOTE),
        ) {
            let snapshots = Snapshots { sequence, subflows };
            prop_assert_eq!(Snapshots::decode(&snapshots.encode(2)), Ok(snapshots));
        }
    }
}
