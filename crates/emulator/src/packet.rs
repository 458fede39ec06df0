//! IP packets, with their addresses, size and ECN field.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_queues::Ecn;

/// Size of an IPv4 header without options, in bytes.
const SHORTEST_V4: usize = 20;

/// Size of an IPv6 header, in bytes.
const HEADER_V6: usize = 40;

/// Position of the checksum in an IPv4 header.
const CHECKSUM: std::ops::Range<usize> = 10..12;

/// A packet of IPv4 or IPv6 with a valid header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet(Vec<u8>);

impl Packet {
    /// Takes the bytes of a packet; returns `None` if the header is invalid, or its length is not that of the bytes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let is_sound = match bytes.first()? >> 4 {
            4 => is_sound_v4(bytes),
            6 => is_sound_v6(bytes),
            _ => false,
        };
        is_sound.then(|| Self(bytes.to_vec()))
    }

    /// All bytes of the packet.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Size in bytes, including the header, as links count it.
    pub fn size(&self) -> u32 {
        self.0.len() as u32
    }

    /// The addresses of the source and the destination.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        if self.is_v4() {
            let at = |place: usize| Ipv4Addr::from(self.array::<4>(place)).into();
            (at(12), at(16))
        } else {
            let at = |place: usize| Ipv6Addr::from(self.array::<16>(place)).into();
            (at(8), at(24))
        }
    }

    /// The ECN field [ramakrishnan2001, sec. 5].
    pub fn ecn(&self) -> Ecn {
        let bits = if self.is_v4() { self.0[1] } else { self.0[1] >> 4 };
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Changes the ECN field, and the checksum accordingly.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        let bits = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        if self.is_v4() {
            self.0[1] = self.0[1] & !3 | bits;
            self.0[CHECKSUM].fill(0);
            let sum = !header_sum(&self.0);
            self.0[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
        } else {
            self.0[1] = self.0[1] & !0x30 | bits << 4;
        }
    }

    fn is_v4(&self) -> bool {
        self.0[0] >> 4 == 4
    }

    fn array<const N: usize>(&self, place: usize) -> [u8; N] {
        self.0[place..place + N].try_into().expect("the header is whole")
    }
}

/// Length of the header of an IPv4 packet in bytes, according to the header.
fn header_length(bytes: &[u8]) -> usize {
    usize::from(bytes[0] & 15) * 4
}

/// The sum in ones' complement of the header of an IPv4 packet; all bits are set if the checksum is right.
fn header_sum(bytes: &[u8]) -> u16 {
    let words = bytes[..header_length(bytes)].chunks_exact(2);
    let sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

fn is_sound_v4(bytes: &[u8]) -> bool {
    if bytes.len() < SHORTEST_V4 {
        return false;
    }
    let (header, total) = (header_length(bytes), usize::from(u16::from_be_bytes([bytes[2], bytes[3]])));
    header >= SHORTEST_V4 && header <= total && total == bytes.len() && header_sum(bytes) == u16::MAX
}

fn is_sound_v6(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER_V6 && HEADER_V6 + usize::from(u16::from_be_bytes([bytes[4], bytes[5]])) == bytes.len()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet of `size` bytes, 20 or more.
    pub fn v4(from: Ipv4Addr, to: Ipv4Addr, ecn: Ecn, size: u16) -> Packet {
        let mut bytes = vec![0; usize::from(size)];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&size.to_be_bytes());
        bytes[12..16].copy_from_slice(&from.octets());
        bytes[16..20].copy_from_slice(&to.octets());
        let mut packet = Packet(bytes);
        packet.set_ecn(ecn);
        Packet::read(packet.as_bytes()).unwrap()
    }

    /// The header of a well-known example of a checksum: 0xb861 for 45 00 00 73 00 00 40 00 40 11.
    const KNOWN: [u8; 20] =
        [0x45, 0, 0, 0x14, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0xc0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];

    #[test]
    fn a_header_says_who_how_much_and_whether_it_is_marked() {
        let mut packet = Packet::read(&KNOWN).unwrap();
        let address = |last| IpAddr::from([192, 168, 0, last]);
        assert_eq!(packet.addresses(), (address(1), address(199)));
        assert_eq!((packet.size(), packet.ecn()), (20, Ecn::NotEct));
        // The field is the end of the second byte: the sum grows by 3, and its complement falls by 3.
        packet.set_ecn(Ecn::Ce);
        assert_eq!((packet.ecn(), &packet.as_bytes()[10..12]), (Ecn::Ce, &[0xb8, 0xbd][..]));
    }

    #[test]
    fn what_is_no_whole_packet_is_none() {
        let changed = |place: usize, value: u8| {
            let mut bytes = KNOWN;
            bytes[place] = value;
            Packet::read(&bytes)
        };
        // Version 5; a header of 24 bytes; 19 bytes in all; a wrong checksum.
        assert_eq!([changed(0, 0x55), changed(0, 0x46), changed(3, 19), changed(11, 0)], [None, None, None, None]);
        assert_eq!([Packet::read(&[]), Packet::read(&KNOWN[..19])], [None, None]);
    }

    #[test]
    fn a_mark_on_ipv6_is_in_the_traffic_class() {
        let mut bytes = [0; 41];
        (bytes[0], bytes[1], bytes[5]) = (0x6a, 0x2f, 1);
        let mut packet = Packet::read(&bytes).unwrap();
        assert_eq!(packet.ecn(), Ecn::Ect0);
        packet.set_ecn(Ecn::Ce);
        // The flow label's first bits stay.
        assert_eq!((packet.as_bytes()[1], packet.ecn()), (0x3f, Ecn::Ce));
        assert_eq!(Packet::read(&bytes[..40]), None);
    }

    proptest! {
        #[test]
        fn random_bytes_are_no_reason_to_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80), v in 4..7u8) {
            if let Some(first) = bytes.first_mut() {
                *first = *first & 15 | v << 4;
            }
            if let Some(packet) = Packet::read(&bytes) {
                prop_assert_eq!(packet.size() as usize, bytes.len());
                packet.addresses();
            }
        }

        #[test]
        fn a_mark_leaves_a_valid_checksum(from: [u8; 4], to: [u8; 4], size in 20..200u16, marks in 0..4usize) {
            let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
            let mut packet = v4(from.into(), to.into(), all[marks], size);
            packet.set_ecn(Ecn::Ce);
            let read = Packet::read(packet.as_bytes()).unwrap();
            prop_assert_eq!((read.ecn(), read.addresses()), (Ecn::Ce, (from.into(), to.into())));
        }
    }
}
