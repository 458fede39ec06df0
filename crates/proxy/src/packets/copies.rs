//! Packets that are sent over two lines: each has a number, and the first copy that comes counts.

use bytes::{Buf, Bytes, BytesMut};

/// The context of packets with a number, in a datagram between a proxy and its exit.
pub(super) const NUMBERED: u8 = 2;

/// Bytes before such a packet: its context and its number.
const HEAD: usize = 5;

/// Numbers below the highest that are known one by one.
const KNOWN: u32 = 1024;

/// Writes a packet with its number, from one that has its context before it.
pub(super) fn numbered(number: u32, packet: &[u8]) -> BytesMut {
    let body = packet.get(1..).unwrap_or_default();
    let mut bytes = BytesMut::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(&[NUMBERED]);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// The number of a packet, and what follows; nothing if there is no number.
pub(super) fn read(mut datagram: Bytes) -> Option<(u32, Bytes)> {
    if datagram.len() < HEAD || datagram.get_u8() != NUMBERED {
        return None;
    }
    let number = datagram.get_u32();
    Some((number, datagram))
}

/// The numbers of packets that have come last.
#[derive(Debug)]
pub(super) struct Came {
    highest: Option<u32>,
    /// A bit for each number, at its place modulo `KNOWN`.
    bits: [u64; KNOWN as usize / 64],
}

impl Default for Came {
    fn default() -> Self {
        Self { highest: None, bits: [0; KNOWN as usize / 64] }
    }
}

impl Came {
    /// Notes a packet; whether it is the first of its number. One that is older than all that are known is not.
    pub fn is_first(&mut self, number: u32) -> bool {
        let highest = self.highest.unwrap_or(number.wrapping_sub(1));
        let ahead = number.wrapping_sub(highest);
        // Numbers begin anew after the highest.
        if (1..1 << 31).contains(&ahead) {
            for step in 1..=ahead.min(KNOWN) {
                self.set(highest.wrapping_add(ahead.saturating_sub(KNOWN)).wrapping_add(step), false);
            }
            self.highest = Some(number);
        } else if highest.wrapping_sub(number) >= KNOWN {
            return false;
        }
        !self.set(number, true)
    }

    /// Sets the bit of a number; what it was.
    fn set(&mut self, number: u32, is_here: bool) -> bool {
        let (word, bit) = ((number % KNOWN / 64) as usize, 1 << (number % 64));
        let before = self.bits[word] & bit != 0;
        self.bits[word] = if is_here { self.bits[word] | bit } else { self.bits[word] & !bit };
        before
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_are_read_as_they_were_written() {
        let packet = numbered(u32::MAX, b"\0body").freeze();
        assert_eq!(read(packet.clone()), Some((u32::MAX, Bytes::from_static(b"body"))));
        for length in 0..HEAD {
            assert_eq!(read(packet.slice(..length)), None);
        }
        assert_eq!(read(Bytes::from_static(b"\0body...")), None);
    }

    proptest! {
        #[test]
        fn each_number_counts_once_and_old_ones_do_not(
            begin in any::<u32>(),
            steps in prop::collection::vec(0_u32..3000, 0..200),
        ) {
            let (mut came, mut all, mut highest) = (Came::default(), HashSet::new(), None);
            for step in steps {
                // Plain numbers, without a beginning anew, say what is to be so.
                let is_old = highest.is_some_and(|highest| step + KNOWN <= highest);
                let is_new = all.insert(step) && !is_old;
                prop_assert_eq!(came.is_first(begin.wrapping_add(step)), is_new);
                highest = highest.max(Some(step));
            }
        }
    }
}
