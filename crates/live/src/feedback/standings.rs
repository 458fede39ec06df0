//! How subflows stand, told between the senders of one file by way of its fetcher: each tells its own, and hears those of
//! all others. All is told each time, so that what is lost costs nothing but time.
//!
//! ```text
//! kind  sequence  subflows   then for each subflow   number  window  rtt  rank  state
//!  1       8         1                                  4       4     4     4     1
//! ```
//!
//! Windows, round trips and ranks are floats; of the state bit 0 says that it is in slow start, bit 1 that it is silent.

use anabranch_proto::window::Standing;

use super::MessageError;
use crate::control::MOST_MIRRORED;

/// Bytes before the first subflow, and of each.
const SIZES: (usize, usize) = (10, 17);

/// Bits of the state.
const STARTING: u8 = 1;
const SILENT: u8 = 2;

/// What is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standings {
    /// Later ones have greater numbers.
    pub sequence: u64,
    /// Of each subflow a number and how it stands. Of a sender's own it is that of the path in QUIC, of others' that of the
    /// group of paths that share links.
    pub subflows: Vec<(u32, Standing)>,
}

impl Standings {
    /// The bytes of it, after its kind.
    pub(super) fn encode(&self, kind: u8) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZES.0 + SIZES.1 * self.subflows.len());
        bytes.push(kind);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.push(self.subflows.len() as u8);
        for (number, standing) in &self.subflows {
            bytes.extend(number.to_be_bytes());
            for value in [standing.window, standing.rtt, standing.rank] {
                bytes.extend((value as f32).to_be_bytes());
            }
            bytes.push(u8::from(standing.is_starting) * STARTING + u8::from(standing.is_silent) * SILENT);
        }
        bytes
    }

    /// What these bytes tell, whatever their kind.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let found = bytes.len();
        let Some((head, rest)) = bytes.split_at_checked(SIZES.0) else {
            return Err(MessageError::Size { found, wanted: SIZES.0 });
        };
        let count = usize::from(head[9]);
        let wanted = SIZES.0 + SIZES.1 * count;
        if count > MOST_MIRRORED {
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

/// A subflow in 17 bytes; `None` if it has a number that is none, or a state that there is not.
fn subflow(bytes: &[u8]) -> Option<(u32, Standing)> {
    let four = |at: usize| -> [u8; 4] { bytes[at..at + 4].try_into().expect("these are 4 bytes") };
    let float =
        |at: usize| Some(f32::from_be_bytes(four(at))).filter(|value| value.is_finite() && !value.is_sign_negative());
    let state = Some(bytes[16]).filter(|state| *state <= STARTING + SILENT)?;
    let standing = Standing {
        window: float(4)?.into(),
        rtt: float(8)?.into(),
        rank: float(12)?.into(),
        is_starting: state & STARTING > 0,
        is_silent: state & SILENT > 0,
    };
    Some((u32::from_be_bytes(four(0)), standing))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn standing() -> impl Strategy<Value = Standing> {
        let number = || (0.0..f32::MAX).prop_map(f64::from);
        (number(), number(), number(), any::<bool>(), any::<bool>()).prop_map(
            |(window, rtt, rank, is_starting, is_silent)| Standing { window, rtt, rank, is_starting, is_silent },
        )
    }

    #[test]
    fn what_tells_of_no_subflows_is_refused() {
        let standing = Standing { window: 10.0, rtt: 0.05, rank: 0.0, is_starting: true, is_silent: false };
        let good = Standings { sequence: 1, subflows: vec![(3, standing)] }.encode(2);
        assert_eq!(good.len(), 27);
        let refused = |bytes: &[u8]| Standings::decode(bytes).unwrap_err().to_string();
        assert_eq!(refused(&good[..26]), "a message of 26 bytes that must have 27");
        assert_eq!(refused(&[]), "a message of 0 bytes that must have 10");
        let with = |at: usize, byte: u8| [&good[..at], &[byte], &good[at + 1..]].concat();
        assert_eq!(refused(&with(9, 33)), "a message on 33 subflows; it may be 32 at most");
        for (at, byte) in [(26, 4), (14, 0x80), (18, 0xff)] {
            assert_eq!(refused(&with(at, byte)), "a message with a number that is none", "{at}");
        }
    }

    proptest! {
        #[test]
        fn standings_are_read_as_they_were_written(
            sequence in any::<u64>(),
            subflows in prop::collection::vec((any::<u32>(), standing()), 0..=MOST_MIRRORED),
        ) {
            let standings = Standings { sequence, subflows };
            prop_assert_eq!(Standings::decode(&standings.encode(2)), Ok(standings));
        }
    }
}
