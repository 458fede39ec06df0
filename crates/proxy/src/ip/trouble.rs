//! Messages about packets that do not go on: ICMP [rfc792], and that of IPv6 [rfc4443].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

use super::packet::{HEAD_V4, HEAD_V6, Header, ICMP, ICMPV6, folded, sum};

/// The longest message with IPv4 [rfc1812, sec. 4.3.2.3] and with IPv6 [rfc4443, sec. 2.4].
const MOST_V4: usize = 576;
const MOST_V6: usize = 1280;

/// Bytes of a message before what it quotes.
const HEAD: usize = 8;

/// Hops that a message has.
const HOPS: u8 = 64;

/// The most messages a second [rfc4443, sec. 2.4(f)].
const MOST_MESSAGES: u32 = 100;

/// Counts messages, of which there are not many in a second.
#[derive(Debug)]
pub(super) struct Messages {
    since: Instant,
    count: u32,
}

impl Default for Messages {
    fn default() -> Self {
        Self { since: Instant::now(), count: 0 }
    }
}

impl Messages {
    /// Whether there may be another.
    pub fn may_tell(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) >= Duration::from_secs(1) {
            *self = Self { since: now, count: 0 };
        }
        self.count += 1;
        self.count <= MOST_MESSAGES
    }
}

/// Why a packet does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It is larger than this number of bytes.
    TooBig(u16),
    /// It has no hops left.
    Expired,
    /// No rule allows it.
    Prohibited,
}

impl Trouble {
    /// Type and code of the message, and what stands behind its checksum.
    fn words(self, is_v4: bool) -> (u8, u8, u32) {
        match (self, is_v4) {
            (Self::TooBig(most), true) => (3, 4, most.into()),
            (Self::TooBig(most), false) => (2, 0, most.into()),
            (Self::Expired, true) => (11, 0, 0),
            (Self::Expired, false) => (3, 0, 0),
            (Self::Prohibited, true) => (3, 13, 0),
            (Self::Prohibited, false) => (1, 1, 0),
        }
    }
}

/// The message to the source of a packet; nothing where there shall be none: about other such messages, later fragments, and
/// packets to or from no single machine.
pub(super) fn tell(packet: &[u8], header: &Header, from: IpAddr, trouble: Trouble) -> Option<Vec<u8>> {
    let is_one = |address: IpAddr| !address.is_multicast() && !address.is_unspecified() && !address.is_loopback();
    let kind = packet.get(header.payload).copied();
    let is_message = match header.protocol {
        ICMP => kind.is_none_or(|kind| [3, 4, 5, 11, 12].contains(&kind)),
        ICMPV6 => kind.is_none_or(|kind| kind < 128),
        _ => false,
    };
    if is_message || header.is_later || !is_one(header.source) || !is_one(header.destination) {
        return None;
    }
    match (from, header.source) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Some(message_v4(packet, (from, to), trouble)),
        (IpAddr::V6(from), IpAddr::V6(to)) => Some(message_v6(packet, (from, to), trouble)),
        _ => None,
    }
}

/// The message itself, whose checksum also covers `before`.
fn body((kind, code, rest): (u8, u8, u32), quote: &[u8], before: u32) -> Vec<u8> {
    let mut body = vec![kind, code, 0, 0];
    body.extend(rest.to_be_bytes());
    body.extend(quote);
    let check = folded(before + sum(&body));
    body[2..4].copy_from_slice(&check.to_be_bytes());
    body
}

fn message_v4(packet: &[u8], (from, to): (Ipv4Addr, Ipv4Addr), trouble: Trouble) -> Vec<u8> {
    let quote = &packet[..packet.len().min(MOST_V4 - HEAD_V4 - HEAD)];
    let body = body(trouble.words(true), quote, 0);
    let mut all = vec![0x45, 0];
    all.extend(((HEAD_V4 + body.len()) as u16).to_be_bytes());
    all.extend([0, 0, 0, 0, HOPS, ICMP, 0, 0]);
    all.extend(from.octets());
    all.extend(to.octets());
    let check = folded(sum(&all));
    all[10..12].copy_from_slice(&check.to_be_bytes());
    all.extend(body);
    all
}

fn message_v6(packet: &[u8], (from, to): (Ipv6Addr, Ipv6Addr), trouble: Trouble) -> Vec<u8> {
    let quote = &packet[..packet.len().min(MOST_V6 - HEAD_V6 - HEAD)];
    let length = HEAD + quote.len();
    // The addresses, the length and the protocol count too [rfc8200, sec. 8.1].
    let before = sum(&from.octets()) + sum(&to.octets()) + length as u32 + u32::from(ICMPV6);
    let body = body(trouble.words(false), quote, before);
    let mut all = vec![0x60, 0, 0, 0];
    all.extend((length as u16).to_be_bytes());
    all.extend([ICMPV6, HOPS]);
    all.extend(from.octets());
    all.extend(to.octets());
    all.extend(body);
    all
}

#[cfg(test)]
mod tests {
    use super::super::packet::read;
    use super::super::packet::tests::{checksum, v4, v6};
    use super::*;

    fn told(packet: &[u8], from: &str, trouble: Trouble) -> Option<Vec<u8>> {
        tell(packet, &read(packet).unwrap(), from.parse().unwrap(), trouble)
    }

    #[test]
    fn a_packet_that_is_too_big_is_answered_with_what_fits() {
        let big = v4("10.0.0.2", "192.0.2.1", 17, &[7; 1400]);
        let message = told(&big, "10.0.0.1", Trouble::TooBig(1380)).unwrap();
        let header = read(&message).unwrap();
        assert_eq!((header.source, header.destination), ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()));
        assert_eq!(message.len(), 576);
        assert_eq!((checksum(&message[..20]), checksum(&message[20..])), (0, 0));
        assert_eq!(message[20..22], [3, 4]);
        assert_eq!(message[26..28], 1380_u16.to_be_bytes());
        assert_eq!(message[28..], big[..548]);
    }

    #[test]
    fn messages_of_ipv6_have_a_checksum_over_the_addresses_too() {
        let big = v6("fd00::2", "2001:db8::1", 17, &[7; 1401]);
        for (trouble, words) in
            [(Trouble::TooBig(1400), [2, 0]), (Trouble::Expired, [3, 0]), (Trouble::Prohibited, [1, 1])]
        {
            let message = told(&big, "fd00::1", trouble).unwrap();
            assert_eq!((message.len(), &message[40..42]), (1280, &words[..]));
            let mut pseudo = message[8..40].to_vec();
            pseudo.extend(1240_u32.to_be_bytes());
            pseudo.extend([0, 0, 0, 58]);
            pseudo.extend(&message[40..]);
            assert_eq!(checksum(&pseudo), 0);
            read(&message).unwrap();
        }
    }

    #[test]
    fn there_is_no_message_about_messages_fragments_and_groups() {
        let own = |packet: &[u8]| told(packet, "10.0.0.1", Trouble::Expired);
        assert!(own(&v4("10.0.0.2", "192.0.2.1", 1, &[8, 0, 0, 0])).is_some(), "an echo is no error");
        assert_eq!(own(&v4("10.0.0.2", "192.0.2.1", 1, &[3, 1, 0, 0])), None);
        assert_eq!(own(&v4("10.0.0.2", "192.0.2.1", 1, &[])), None);
        assert_eq!(own(&v4("10.0.0.2", "224.0.0.1", 17, &[0; 8])), None);
        assert_eq!(own(&v4("0.0.0.0", "192.0.2.1", 17, &[0; 8])), None);
        let mut later = v4("10.0.0.2", "192.0.2.1", 17, &[0; 8]);
        later[7] = 1;
        assert_eq!(own(&later), None);
        assert_eq!(own(&v6("fd00::2", "2001:db8::1", 17, &[0; 8])), None, "there is no address to tell it from");
    }
}
