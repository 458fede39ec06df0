//! The protocol of an extended request by CONNECT, which is put in the place of another in the header of a request.
//!
//! The HTTP/3 library knows `connect-udp` and `webtransport` alone. Nobody here speaks WebTransport, so its name stands for
//! `connect-ip` [rfc9484] within the library: the adapter takes it for the other in what is sent, and the other way round in
//! what is received. Fields are found by their lengths; none but that of the protocol is decoded [rfc9204, sec. 4.5].

use bytes::{Bytes, BytesMut};

use crate::packets::capsule::{read_number, write_number};

/// The type of a frame that holds a header.
const HEADERS: u64 = 1;

/// The longest header in which a protocol is looked for, in bytes as they are sent: what the library reads at most.
const MOST_HEADER: u64 = 16 << 10;

/// A text as it is, and in the code of Huffman [rfc7541, appendix B].
#[derive(Clone, Copy, Debug)]
struct Word {
    plain: &'static [u8],
    coded: &'static [u8],
}

const PROTOCOL: Word = Word { plain: b":protocol", coded: &[0xb9, 0x5d, 0x87, 0x49, 0xc8, 0x7a, 0x3f] };
const CONNECT_IP: Word = Word { plain: b"connect-ip", coded: &[0x21, 0xea, 0xa8, 0xa4, 0x4a, 0xc6, 0xaf] };
const WEB_TRANSPORT: Word =
    Word { plain: b"webtransport", coded: &[0xf0, 0x58, 0xd3, 0x60, 0xea, 0x45, 0x67, 0xb1, 0x3f] };

impl Word {
    fn is(self, text: Text<'_>) -> bool {
        text.bytes == if text.is_coded { self.coded } else { self.plain }
    }
}

/// A text in a header.
#[derive(Clone, Copy, Debug)]
struct Text<'a> {
    bytes: &'a [u8],
    is_coded: bool,
}

/// The beginning of a stream that a peer sends, until its header has come.
#[derive(Debug, Default)]
pub(super) struct Beginning(BytesMut);

impl Beginning {
    /// Takes the next bytes; gives all that have come once it is known what the library is to read.
    pub fn add(&mut self, bytes: &[u8]) -> Option<Bytes> {
        self.0.extend_from_slice(bytes);
        let (kind, length, begin) = frame(&self.0).or_else(|| (self.0.len() >= 16).then_some((u64::MAX, 0, 0)))?;
        if kind == HEADERS && length <= MOST_HEADER && ((self.0.len() - begin) as u64) < length {
            return None;
        }
        let all = self.0.split().freeze();
        Some(replaced(&all, CONNECT_IP, WEB_TRANSPORT).unwrap_or(all))
    }

    /// What has come of a stream that ends here.
    pub fn rest(&mut self) -> Bytes {
        self.0.split().freeze()
    }
}

/// The first frame of a request as it is sent, where the library gave it another protocol.
pub(super) fn as_sent(frame: &[u8]) -> Option<Bytes> {
    replaced(frame, WEB_TRANSPORT, CONNECT_IP)
}

/// Type and length of the frame at the beginning of some bytes, and where its value begins.
fn frame(bytes: &[u8]) -> Option<(u64, u64, usize)> {
    let (kind, after) = read_number(bytes)?;
    let (length, more) = read_number(&bytes[after..])?;
    Some((kind, length, after + more))
}

/// Bytes that begin with the frame of a header, with another protocol in it; nothing if there is no such protocol.
fn replaced(bytes: &[u8], from: Word, to: Word) -> Option<Bytes> {
    let (HEADERS, length, begin) = frame(bytes)? else { return None };
    let end = begin.checked_add(usize::try_from(length).ok()?)?;
    let (header, rest) = (bytes.get(begin..end)?, &bytes[end..]);
    let (first, last) = field(header, from)?;
    // A literal field with a literal name [rfc9204, sec. 4.5.6]: nine is two more than three bits hold.
    let mut field = vec![0x27, 2];
    field.extend(PROTOCOL.plain);
    field.push(to.plain.len() as u8);
    field.extend(to.plain);
    let mut all = BytesMut::with_capacity(bytes.len() + field.len());
    write_number(HEADERS, &mut all);
    write_number((header.len() - (last - first) + field.len()) as u64, &mut all);
    for part in [&header[..first], &field, &header[last..], rest] {
        all.extend_from_slice(part);
    }
    Some(all.freeze())
}

/// Where the field of a protocol begins and ends in a header; nothing if there is none.
fn field(header: &[u8], protocol: Word) -> Option<(usize, usize)> {
    let mut reader = Reader { header, at: 0 };
    // The head: how many entries of a table are needed, of which there are none, and from where they count.
    reader.number(8)?;
    reader.number(7)?;
    while reader.at < header.len() {
        let begin = reader.at;
        match header[begin] {
            // An entry of a table.
            0x80.. => _ = reader.number(6)?,
            0x10..0x20 => _ = reader.number(4)?,
            // A value whose name is in a table.
            0x40..0x80 => {
                reader.number(4)?;
                reader.text(7)?;
            }
            0x00..0x10 => {
                reader.number(3)?;
                reader.text(7)?;
            }
            0x20..0x40 => {
                let (name, value) = (reader.text(3)?, reader.text(7)?);
                if PROTOCOL.is(name) {
                    return protocol.is(value).then_some((begin, reader.at));
                }
            }
        }
    }
    None
}

/// Reads a header from its beginning to its end.
struct Reader<'a> {
    header: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A number in some bits of a byte, and in further ones if it has no room there [rfc7541, sec. 5.1].
    fn number(&mut self, bits: u32) -> Option<usize> {
        let most = (1 << bits) - 1;
        let mut number = usize::from(*self.header.get(self.at)?) & most;
        self.at += 1;
        if number < most {
            return Some(number);
        }
        // No header is longer than what four bytes say.
        for shift in [0, 7, 14, 21] {
            let byte = *self.header.get(self.at)?;
            self.at += 1;
            number += usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A text, whose length has this number of bits in its first byte, behind the one that says how it is coded.
    fn text(&mut self, bits: u32) -> Option<Text<'a>> {
        let is_coded = self.header.get(self.at)? >> bits & 1 == 1;
        let length = self.number(bits)?;
        let bytes = self.header.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(Text { bytes, is_coded })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The code of Huffman for the letters of these words [rfc7541, appendix B]: the bits, and their number.
    fn coded(text: &[u8]) -> Vec<u8> {
        let code = |letter: u8| match letter {
            b'a' => (0x3, 5),
            b'b' => (0x23, 6),
            b'c' => (0x4, 5),
            b'e' => (0x5, 5),
            b'i' => (0x6, 5),
            b'l' => (0x28, 6),
            b'n' => (0x2a, 6),
            b'o' => (0x7, 5),
            b'p' => (0x2b, 6),
            b'r' => (0x2c, 6),
            b's' => (0x8, 5),
            b't' => (0x9, 5),
            b'w' => (0x78, 7),
            b'-' => (0x16, 6),
            b':' => (0x5c, 7),
            other => panic!("{other} is in none of the words"),
        };
        let letters: Vec<String> =
            text.iter().map(|&letter| code(letter)).map(|(bits, n)| format!("{bits:0n$b}")).collect();
        let bits = letters.concat();
        let whole = bits.len().next_multiple_of(8);
        let padded = format!("{bits:1<whole$}");
        padded.as_bytes().chunks(8).map(|byte| u8::from_str_radix(str::from_utf8(byte).unwrap(), 2).unwrap()).collect()
    }

    fn text(to: &mut Vec<u8>, first: u8, bits: u32, word: &[u8]) {
        let most = (1 << bits) - 1;
        if word.len() < most {
            to.push(first | word.len() as u8);
        } else {
            to.extend([first | most as u8, (word.len() - most) as u8]);
        }
        to.extend(word);
    }

    /// A request: method CONNECT by an entry of the table, a path, the protocol, and a field behind it.
    fn request(protocol: Word, is_coded: bool) -> Vec<u8> {
        let mut header = vec![0, 0, 0xc0 | 15];
        header.push(0x40 | 0x10 | 1);
        text(&mut header, 0, 7, b"/.well-known/masque/ip/*/*/");
        if is_coded {
            text(&mut header, 0x28, 3, PROTOCOL.coded);
            text(&mut header, 0x80, 7, protocol.coded);
        } else {
            text(&mut header, 0x20, 3, PROTOCOL.plain);
            text(&mut header, 0, 7, protocol.plain);
        }
        text(&mut header, 0x20, 3, b"capsule-protocol");
        text(&mut header, 0, 7, b"?1");
        let mut all = BytesMut::new();
        write_number(HEADERS, &mut all);
        write_number(header.len() as u64, &mut all);
        all.extend_from_slice(&header);
        all.extend_from_slice(b"\0\x03abc");
        all.to_vec()
    }

    #[test]
    fn words_are_coded_as_the_table_has_it() {
        for word in [PROTOCOL, CONNECT_IP, WEB_TRANSPORT] {
            assert_eq!(word.coded, coded(word.plain));
        }
    }

    #[test]
    fn a_protocol_takes_the_place_of_the_other_in_any_pieces() {
        for is_coded in [false, true] {
            let sent = request(CONNECT_IP, is_coded);
            for piece in [1, 2, 7, 30, sent.len()] {
                let mut beginning = Beginning::default();
                let mut chunks = sent.chunks(piece);
                let mut read = chunks.find_map(|chunk| beginning.add(chunk)).unwrap().to_vec();
                read.extend(chunks.flatten());
                assert_eq!(read, request(WEB_TRANSPORT, false));
            }
            assert_eq!(as_sent(&request(WEB_TRANSPORT, is_coded)).unwrap(), request(CONNECT_IP, false));
        }
    }

    #[test]
    fn other_streams_stay_as_they_are() {
        const UDP: Word = Word { plain: b"connect-udp", coded: b"" };
        for stream in [&request(UDP, false)[..], b"\x21\x01x", b"\0\x05hello", &[0xff; 40]] {
            let mut beginning = Beginning::default();
            let read = beginning.add(stream).unwrap_or_else(|| beginning.rest());
            assert_eq!(read, stream);
            assert_eq!(as_sent(stream), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader_and_none_are_lost(
            header in prop::collection::vec(any::<u8>(), 0..200), piece in 1..50_usize
        ) {
            let mut stream = vec![1, 0x40, header.len() as u8];
            stream.extend(&header);
            let (mut beginning, mut read) = (Beginning::default(), Vec::new());
            for chunk in stream.chunks(piece) {
                read.extend(beginning.add(chunk).into_iter().flatten());
            }
            read.extend(beginning.rest());
            prop_assert!(read == stream || as_sent(&read).is_some());
        }
    }
}
