//! Capsules on streams, and the numbers of variable length in them [rfc9297, sec. 3; rfc9000, sec. 16].

use bytes::{Buf, Bytes, BytesMut};

/// The type of a capsule that holds a datagram.
pub(crate) const DATAGRAM: u64 = 0;

/// Greatest size of a datagram: that of UDP, and some bytes before it.
pub const MOST_DATAGRAM: usize = (64 << 10) + 16;

/// Bytes of the longest number.
const MOST_NUMBER: usize = 8;

/// Reads a number at the beginning of some bytes: the number and its length; nothing if more bytes have to come.
pub fn read_number(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1 << (first >> 6);
    let rest = bytes.get(1..length)?;
    Some((rest.iter().fold(u64::from(first & 0x3f), |number, &byte| number << 8 | u64::from(byte)), length))
}

/// Writes a number below 2^62 in as few bytes as it takes.
pub fn write_number(number: u64, bytes: &mut BytesMut) {
    let (prefix, length) = match number {
        0..0x40 => (0, 1),
        0x40..0x4000 => (0x40, 2),
        0x4000..0x4000_0000 => (0x80, 4),
        _ => (0xc0, MOST_NUMBER),
    };
    let from = bytes.len();
    bytes.extend_from_slice(&number.to_be_bytes()[MOST_NUMBER - length..]);
    bytes[from] |= prefix;
}

/// Writes a capsule that holds a datagram.
pub fn write_datagram(datagram: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(datagram.len() + 2 * MOST_NUMBER);
    write_number(DATAGRAM, &mut bytes);
    write_number(datagram.len() as u64, &mut bytes);
    bytes.extend_from_slice(datagram);
    bytes.freeze()
}

/// The capsules of a stream: their types and values. Only those of some types are read, and the others are skipped.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    bytes: BytesMut,
    /// Bytes of the present capsule that are still to skip.
    skip: u64,
}

/// A capsule is longer than those of its type may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooLong;

impl Reader {
    /// Takes the next bytes of the stream.
    pub fn add(&mut self, mut more: impl Buf) {
        while more.has_remaining() {
            let chunk = more.chunk();
            let skipped = self.skip.min(chunk.len() as u64) as usize;
            self.bytes.extend_from_slice(&chunk[skipped..]);
            self.skip -= skipped as u64;
            let length = chunk.len();
            more.advance(length);
        }
    }

    /// The next capsule of a type for which `most` knows the greatest length, if all of it has come.
    ///
    /// One that is longer is an error, and is skipped. A value has memory of its own: it keeps no other bytes there.
    pub fn next(&mut self, most: impl Fn(u64) -> Option<usize>) -> Option<Result<(u64, Bytes), TooLong>> {
        loop {
            let (kind, after) = read_number(&self.bytes)?;
            let (length, more) = read_number(&self.bytes[after..])?;
            let begin = after + more;
            let most = most(kind);
            if most.is_none_or(|most| length > most as u64) {
                let here = (self.bytes.len() - begin) as u64;
                self.bytes.advance(begin + here.min(length) as usize);
                self.skip = length.saturating_sub(here);
                if most.is_some() {
                    return Some(Err(TooLong));
                }
                continue;
            }
            let end = begin + length as usize;
            let value = Bytes::copy_from_slice(self.bytes.get(begin..end)?);
            self.bytes.advance(end);
            return Some(Ok((kind, value)));
        }
    }
}

/// The datagrams in the capsules of a stream; other capsules are skipped, and so are datagrams that are too long.
#[derive(Debug, Default)]
pub struct Capsules(Reader);

impl Capsules {
    /// Takes the next bytes of the stream.
    pub fn add(&mut self, more: impl Buf) {
        self.0.add(more);
    }
}

impl Iterator for Capsules {
    type Item = Bytes;

    /// The next datagram, if all of it has come; more may follow when more bytes have.
    fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Ok((_, datagram)) = self.0.next(|kind| (kind == DATAGRAM).then_some(MOST_DATAGRAM))? {
                return Some(datagram);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(number: u64) -> Vec<u8> {
        let mut bytes = BytesMut::new();
        write_number(number, &mut bytes);
        bytes.to_vec()
    }

    #[test]
    fn numbers_are_those_of_the_standard() {
        // The examples of RFC 9000, appendix A.1.
        for (number, bytes) in [
            (37, &[0x25][..]),
            (15_293, &[0x7b, 0xbd]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
        ] {
            assert_eq!(written(number), bytes);
            assert_eq!(read_number(bytes), Some((number, bytes.len())));
            assert_eq!(read_number(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(read_number(&[0x40, 0x25]), Some((37, 2)), "a number may be longer than it has to be");
    }

    #[test]
    fn other_capsules_and_what_is_too_long_are_skipped() {
        let mut stream = BytesMut::new();
        for (kind, length) in [(0x17, 5), (DATAGRAM, MOST_DATAGRAM + 1), (DATAGRAM, 3), (0x17, 0), (DATAGRAM, 0)] {
            write_number(kind, &mut stream);
            write_number(length as u64, &mut stream);
            stream.extend(std::iter::repeat_n(7, length));
        }
        for piece in [1, 7, 1000, stream.len()] {
            let (mut capsules, mut found) = (Capsules::default(), Vec::new());
            for chunk in stream.chunks(piece) {
                capsules.add(chunk);
                found.extend(&mut capsules);
            }
            assert_eq!(found, [&[7, 7, 7][..], &[]], "in pieces of {piece}");
        }
    }

    #[test]
    fn a_value_keeps_no_memory_but_its_own_and_what_is_skipped_is_not_kept() {
        let mut reader = Reader::default();
        reader.add(&[9, 2, 7, 7, 9, 1, 8, 1, 0x80, 1, 0, 0, 5][..]);
        let mut next = || reader.next(|kind| (kind == 9).then_some(2));
        let values: Vec<Bytes> = std::iter::from_fn(&mut next).map(|read| read.unwrap().1).collect();
        assert_eq!(values, [&[7, 7][..], &[8]]);
        assert!(values.iter().all(Bytes::is_unique));
        // A capsule of another type, with 65,535 bytes more.
        reader.add(Bytes::from(vec![0; 65_000]));
        assert_eq!((reader.bytes.len(), reader.skip), (0, 535));
        reader.add(&[0; 535][..]);
        reader.add(&[9, 3, 1, 1, 1, 9, 1, 5][..]);
        let most = |kind| (kind == 9).then_some(2);
        assert!(reader.next(most).unwrap().is_err(), "it is too long");
        assert_eq!(reader.next(most).unwrap().unwrap(), (9, Bytes::from_static(&[5])));
    }

    proptest! {
        #[test]
        fn datagrams_read_as_they_are_written(
            all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8), piece in 1..100_usize
        ) {
            let stream: Vec<u8> = all.iter().flat_map(|datagram| write_datagram(datagram)).collect();
            let (mut capsules, mut found) = (Capsules::default(), Vec::new());
            for chunk in stream.chunks(piece) {
                capsules.add(chunk);
                found.extend(&mut capsules);
            }
            prop_assert_eq!(found, all);
        }

        #[test]
        fn numbers_read_as_they_are_written(number in 0..1_u64 << 62) {
            let bytes = written(number);
            prop_assert_eq!(read_number(&bytes), Some((number, bytes.len())));
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut capsules = Capsules::default();
            capsules.add(&bytes[..]);
            let _ = capsules.count();
        }
    }
}
