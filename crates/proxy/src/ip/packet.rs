//! What the header of an IP packet says [rfc791, rfc8200].

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Numbers of protocols.
pub(super) const ICMP: u8 = 1;
pub(super) const ICMPV6: u8 = 58;

/// Protocols whose header begins with two ports: TCP, UDP, DCCP, SCTP and UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// Bytes of a header without options.
pub(super) const HEAD_V4: usize = 20;
pub(super) const HEAD_V6: usize = 40;

/// The most extension headers of a packet.
const MOST_EXTENSIONS: usize = 8;

/// Options of IPv4 that name routers on the way.
const SOURCE_ROUTES: [u8; 2] = [131, 137];

/// What the header of a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where the packet comes from.
    pub source: IpAddr,
    /// Where it goes.
    pub destination: IpAddr,
    /// Number of its protocol, behind all extension headers.
    pub protocol: u8,
    /// Its ports, of the source and of the destination, if it has any and they are in this packet.
    pub ports: Option<(u16, u16)>,
    /// The most hops that it has left.
    pub hops: u8,
    /// Whether it must arrive in one piece.
    pub is_whole: bool,
    /// Whether it is a fragment that is not the first.
    pub is_later: bool,
    /// Where its payload begins, behind all extension headers.
    pub payload: usize,
    /// A number that packets of one inner flow have in common.
    pub flow: u64,
}

impl Header {
    /// Whether it is a message of ICMP.
    pub fn is_message(&self) -> bool {
        self.protocol == if self.source.is_ipv4() { ICMP } else { ICMPV6 }
    }
}

/// A packet that is none, or one that is not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads the header of a packet, whose length has to be that of the bytes. Packets that name routers on their way are refused:
/// their destination is not where they end.
///
/// # Errors
/// If it is no such packet.
pub fn read(packet: &[u8]) -> Result<Header, Malformed> {
    match packet.first().map(|first| first >> 4) {
        Some(4) => read_v4(packet),
        Some(6) => read_v6(packet),
        _ => None,
    }
    .ok_or(Malformed)
}

/// Takes a hop away from a packet that was read.
pub fn take_hop(packet: &mut [u8]) {
    if packet[0] >> 4 == 6 {
        packet[7] -= 1;
        return;
    }
    // The checksum changes by as much [rfc1624, eq. 3].
    let word = |at: usize, packet: &[u8]| u32::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let before = word(8, packet);
    packet[8] -= 1;
    let sum = (!word(10, packet) & 0xffff) + (!before & 0xffff) + word(8, packet);
    packet[10..12].copy_from_slice(&folded(sum).to_be_bytes());
}

/// The checksum of a sum of words: its complement in 16 bits [rfc1071].
pub(super) fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The sum of the words of some bytes.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]))).sum()
}

fn word(packet: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?))
}

fn read_v4(packet: &[u8]) -> Option<Header> {
    let head = packet.first_chunk::<HEAD_V4>()?;
    let payload = usize::from(head[0] & 0xf) * 4;
    let is_sound = payload >= HEAD_V4 && usize::from(word(head, 2)?) == packet.len() && packet.len() >= payload;
    if !is_sound || names_routers(&packet[HEAD_V4..payload])? {
        return None;
    }
    let fragment = word(head, 6)?;
    let (is_later, more) = (fragment & 0x1fff != 0, fragment & 0x2000 != 0);
    let address = |at: usize| Some(Ipv4Addr::from(*head.get(at..)?.first_chunk::<4>()?).into());
    let (source, destination, protocol) = (address(12)?, address(16)?, head[9]);
    let ports = if is_later { None } else { ports(packet, payload, protocol) };
    Some(Header {
        source,
        destination,
        protocol,
        ports,
        hops: head[8],
        is_whole: fragment & 0x4000 != 0,
        is_later,
        payload,
        flow: flow((source, destination, protocol), ports.filter(|_| !more), 0),
    })
}

/// Whether options name routers on the way; nothing if they are no options.
fn names_routers(mut options: &[u8]) -> Option<bool> {
    while let Some(&kind) = options.first() {
        match kind {
            // The end, and a byte of nothing.
            0 => return Some(false),
            1 => options = &options[1..],
            _ if SOURCE_ROUTES.contains(&kind) => return Some(true),
            _ => {
                let length = usize::from(*options.get(1)?);
                options = options.get(length..).filter(|_| length >= 2)?;
            }
        }
    }
    Some(false)
}

fn read_v6(packet: &[u8]) -> Option<Header> {
    let head = packet.first_chunk::<HEAD_V6>()?;
    if usize::from(word(head, 4)?) + HEAD_V6 != packet.len() {
        return None;
    }
    let address = |at: usize| Some(Ipv6Addr::from(*head.get(at..)?.first_chunk::<16>()?).into());
    let (source, destination) = (address(8)?, address(24)?);
    let label = u32::from_be_bytes(*head.first_chunk()?) & 0xf_ffff;
    let (mut protocol, mut payload, mut is_later, mut is_part) = (head[6], HEAD_V6, false, false);
    for _ in 0..MOST_EXTENSIONS {
        let length = match protocol {
            // Options for hops, options for the destination, and routers on the way of which some are left.
            43 if *packet.get(payload + 3)? != 0 => return None,
            0 | 43 | 60 => 8 + 8 * usize::from(*packet.get(payload + 1)?),
            44 if !is_later => {
                let fragment = word(packet, payload + 2)?;
                (is_later, is_part) = (fragment & 0xfff8 != 0, true);
                8
            }
            51 => 8 + 4 * usize::from(*packet.get(payload + 1)?),
            _ => break,
        };
        protocol = *packet.get(payload)?;
        payload += length;
        if payload > packet.len() {
            return None;
        }
        if is_later {
            // What follows is of another fragment.
            break;
        }
    }
    if !is_later && matches!(protocol, 0 | 43 | 44 | 51 | 60) {
        // More extensions than are looked at, or a second fragment in one: what follows is not known.
        return None;
    }
    let ports = if is_later { None } else { ports(packet, payload, protocol) };
    Some(Header {
        source,
        destination,
        protocol,
        ports,
        hops: head[7],
        is_whole: true,
        is_later,
        payload,
        flow: flow((source, destination, protocol), ports.filter(|_| !is_part), label),
    })
}

fn ports(packet: &[u8], payload: usize, protocol: u8) -> Option<(u16, u16)> {
    if !WITH_PORTS.contains(&protocol) {
        return None;
    }
    Some((word(packet, payload)?, word(packet, payload + 2)?))
}

/// The number of an inner flow: by addresses, protocol and ports; where ports are not known by the label of the flow, so that
/// all fragments of a packet have the same [rfc6437, sec. 3].
fn flow(ends: (IpAddr, IpAddr, u8), ports: Option<(u16, u16)>, label: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    match ports {
        Some(ports) => (ends, ports).hash(&mut hasher),
        None => (ends, label).hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A packet of IPv4 with a payload.
    pub fn v4(source: &str, destination: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend((20 + payload.len() as u16).to_be_bytes());
        packet.extend([0, 1, 0x40, 0, 64, protocol, 0, 0]);
        for address in [source, destination] {
            packet.extend(address.parse::<Ipv4Addr>().unwrap().octets());
        }
        let check = checksum(&packet);
        packet[10..12].copy_from_slice(&check.to_be_bytes());
        packet.extend(payload);
        packet
    }

    /// A packet of IPv6 with a payload.
    pub fn v6(source: &str, destination: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 7];
        packet.extend((payload.len() as u16).to_be_bytes());
        packet.extend([protocol, 64]);
        for address in [source, destination] {
            packet.extend(address.parse::<Ipv6Addr>().unwrap().octets());
        }
        packet.extend(payload);
        packet
    }

    /// The checksum as a person would work it out: words one by one, with each carry added at once.
    pub fn checksum(bytes: &[u8]) -> u16 {
        let mut sum = 0_u16;
        for at in (0..bytes.len()).step_by(2) {
            let word = u16::from(bytes[at]) * 256 + bytes.get(at + 1).map_or(0, |byte| u16::from(*byte));
            let (next, has_carry) = sum.overflowing_add(word);
            sum = next + u16::from(has_carry);
        }
        0xffff - sum
    }

    const PORTS: [u8; 8] = [0x30, 0x39, 0, 80, 0, 8, 0, 0];

    #[test]
    fn headers_say_who_speaks_to_whom() {
        let header = read(&v4("10.0.0.1", "192.0.2.1", 17, &PORTS)).unwrap();
        assert_eq!((header.source, header.destination), ("10.0.0.1".parse().unwrap(), "192.0.2.1".parse().unwrap()));
        assert_eq!((header.protocol, header.ports, header.payload), (17, Some((12_345, 80)), 20));
        assert!(header.is_whole && !header.is_later);
        let header = read(&v6("fd00::1", "2001:db8::1", 6, &PORTS)).unwrap();
        assert_eq!((header.protocol, header.ports, header.hops), (6, Some((12_345, 80)), 64));
        // Options for the destination before the ports.
        let behind = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &PORTS].concat();
        let header = read(&v6("fd00::1", "2001:db8::1", 60, &behind)).unwrap();
        assert_eq!((header.protocol, header.ports, header.payload), (17, Some((12_345, 80)), 48));
        assert_eq!(read(&v4("10.0.0.1", "192.0.2.1", 1, &PORTS)).unwrap().ports, None);
        assert_eq!(read(&v4("10.0.0.1", "192.0.2.1", 17, &PORTS[..3])).unwrap().ports, None, "they are cut off");
    }

    #[test]
    fn fragments_of_a_packet_have_one_flow_and_later_ones_no_ports() {
        let fragment = |bits: u16| {
            let mut packet = v4("10.0.0.1", "192.0.2.1", 17, &PORTS);
            packet[6..8].copy_from_slice(&bits.to_be_bytes());
            read(&packet).unwrap()
        };
        let (first, later) = (fragment(0x2000), fragment(1));
        assert_eq!((first.ports, later.ports), (Some((12_345, 80)), None));
        assert_eq!((first.flow, first.is_later, later.is_later), (later.flow, false, true));
        let fragment = |offset: u16| {
            let mut payload = vec![17, 0];
            payload.extend((offset << 3 | 1).to_be_bytes());
            payload.extend([0, 0, 0, 9]);
            payload.extend(PORTS);
            read(&v6("fd00::1", "2001:db8::1", 44, &payload)).unwrap()
        };
        let (first, later) = (fragment(0), fragment(1));
        assert_eq!((first.ports, later.ports, later.protocol), (Some((12_345, 80)), None, 17));
        assert_eq!((first.flow, first.is_later, later.is_later), (later.flow, false, true));
    }

    #[test]
    fn packets_of_one_connection_have_one_flow_and_others_another() {
        let flow = |port: u8| read(&v4("10.0.0.1", "192.0.2.1", 6, &[0, port, 0, 80])).unwrap().flow;
        assert_eq!(flow(1), flow(1));
        assert_ne!(flow(1), flow(2));
    }

    #[test]
    fn what_is_no_packet_is_malformed_and_so_is_one_that_names_routers() {
        let fine = v4("10.0.0.1", "192.0.2.1", 17, &PORTS);
        for length in 0..fine.len() {
            assert_eq!(read(&fine[..length]), Err(Malformed), "{length} bytes");
        }
        assert_eq!(read(&[&fine[..], &[0]].concat()), Err(Malformed), "a byte too many");
        let mut short = fine.clone();
        short[0] = 0x44;
        assert_eq!(read(&short), Err(Malformed));
        let mut route = vec![0x47, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1];
        route.extend([131, 7, 4, 10, 0, 0, 9, 0]);
        assert_eq!(read(&route), Err(Malformed));
        route[20..].copy_from_slice(&[1, 7, 7, 4, 0, 0, 0, 0]);
        assert!(read(&route).is_ok(), "a record of the way names no routers");
        let six = v6("fd00::1", "2001:db8::1", 43, &[17, 0, 4, 0, 0, 0, 0, 0]);
        assert!(read(&six).is_ok());
        let six = v6("fd00::1", "2001:db8::1", 43, &[17, 0, 4, 1, 0, 0, 0, 0]);
        assert_eq!(read(&six), Err(Malformed));
    }

    proptest! {
        #[test]
        fn a_hop_less_leaves_the_checksum_right(
            hops in 1..=255_u8, rest in any::<[u8; 6]>(), source in any::<Ipv4Addr>(), payload in any::<[u8; 9]>()
        ) {
            let mut packet = v4(&source.to_string(), "192.0.2.1", 17, &payload);
            packet[4..6].copy_from_slice(&rest[..2]);
            packet[8] = hops;
            packet[10..12].fill(0);
            let check = checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&check.to_be_bytes());
            take_hop(&mut packet);
            prop_assert_eq!(packet[8], hops - 1);
            prop_assert_eq!(checksum(&packet[..20]), 0);
        }

        #[test]
        fn no_bytes_break_the_reader(version in prop::sample::select(vec![0x45_u8, 0x4f, 0x60, 0]), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut packet = bytes;
            if let Some(first) = packet.first_mut() {
                *first = version;
            }
            let length = packet.len() as u16;
            if packet.len() > 6 {
                let (at, length) = if version == 0x60 { (4, length.saturating_sub(40)) } else { (2, length) };
                packet[at..at + 2].copy_from_slice(&length.to_be_bytes());
            }
            if let Ok(header) = read(&packet) {
                prop_assert!(header.payload <= packet.len());
                if header.hops > 0 {
                    take_hop(&mut packet);
                    prop_assert_eq!(read(&packet).unwrap(), Header { hops: header.hops - 1, ..header });
                }
            }
        }

        #[test]
        fn sums_are_those_of_a_person(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(folded(sum(&bytes)), checksum(&bytes));
        }
    }
}
