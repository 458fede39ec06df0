//! SOCKS 5 on the side of the server [rfc1928], with names and passwords [rfc1929].
//!
//! Readers take the bytes that have come. They give what is complete with the number of its bytes, or nothing if more
//! have to come. No message is longer than [`MOST_MESSAGE`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::target::{Host, Target};

/// Bytes of the longest message, that with a name and a password.
pub const MOST_MESSAGE: usize = 513;

/// The version of the protocol.
const VERSION: u8 = 5;

/// The version of the messages with a name and a password.
const PASSWORD_VERSION: u8 = 1;

/// How a client shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// By nothing.
    None = 0,
    /// By a name and a password.
    Password = 2,
    /// By no method that the server accepts.
    Unacceptable = 0xff,
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A connection to a target.
    Connect(Target),
    /// A place to send datagrams to.
    Associate,
    /// Something that is not served, by its number.
    Other(u8),
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reply {
    /// The target is reached.
    Succeeded = 0,
    /// Something failed.
    Failed = 1,
    /// The rules do not allow the target.
    NotAllowed = 2,
    /// The network cannot be reached.
    NoNetwork = 3,
    /// The host cannot be reached.
    NoHost = 4,
    /// The target refuses connections.
    Refused = 5,
    /// The target did not answer in time.
    TimedOut = 6,
    /// What is asked for is not served.
    NotServed = 7,
    /// The kind of the address is not known.
    WrongAddress = 8,
}

/// The reason why bytes are no message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SocksError {
    /// The version is another.
    #[error("version {0} of SOCKS, and only version 5 is served")]
    Version(u8),
    /// The kind of the address is not known.
    #[error("an address of the unknown kind {0}")]
    Kind(u8),
    /// The host or the port cannot be one.
    #[error("a target that cannot be one")]
    Target,
}

/// Something read, and the number of its bytes; nothing if more have to come.
type Read<T> = Result<Option<(T, usize)>, SocksError>;

/// Reads the first message: the methods that a client offers.
///
/// # Errors
/// If the version is not 5.
pub fn read_methods(bytes: &[u8]) -> Read<Vec<u8>> {
    let Some(&version) = bytes.first() else { return Ok(None) };
    if version != VERSION {
        return Err(SocksError::Version(version));
    }
    let Some(&count) = bytes.get(1) else { return Ok(None) };
    let end = 2 + usize::from(count);
    Ok(bytes.get(2..end).map(|methods| (methods.to_vec(), end)))
}

/// The answer to the methods.
pub fn write_method(method: Method) -> [u8; 2] {
    [VERSION, method as u8]
}

/// Reads a name and a password.
///
/// # Errors
/// If the version is not 1.
pub fn read_password(bytes: &[u8]) -> Read<(Vec<u8>, Vec<u8>)> {
    let Some(&version) = bytes.first() else { return Ok(None) };
    if version != PASSWORD_VERSION {
        return Err(SocksError::Version(version));
    }
    let Some((name, after)) = counted(bytes, 1) else { return Ok(None) };
    Ok(counted(bytes, after).map(|(password, end)| ((name.to_vec(), password.to_vec()), end)))
}

/// The answer to a name and a password.
pub fn write_accepted(is_accepted: bool) -> [u8; 2] {
    [PASSWORD_VERSION, u8::from(!is_accepted)]
}

/// Reads a request.
///
/// # Errors
/// If the version is not 5, or there can be no such target.
pub fn read_request(bytes: &[u8]) -> Read<Request> {
    let Some(&version) = bytes.first() else { return Ok(None) };
    if version != VERSION {
        return Err(SocksError::Version(version));
    }
    let Some(&command) = bytes.get(1) else { return Ok(None) };
    let Some((target, end)) = read_target(bytes, 3)? else { return Ok(None) };
    let request = match command {
        1 => Request::Connect(target.ok_or(SocksError::Target)?),
        3 => Request::Associate,
        other => Request::Other(other),
    };
    Ok(Some((request, end)))
}

/// Reads the beginning of a packet of an application [rfc1928, sec. 7]: where it is to go, and where its payload begins.
/// Nothing if it is a fragment, or there can be no such target.
pub fn read_packet(bytes: &[u8]) -> Option<(Target, usize)> {
    match bytes {
        [_, _, 0, ..] => match read_target(bytes, 3) {
            Ok(Some((Some(target), end))) => Some((target, end)),
            _ => None,
        },
        _ => None,
    }
}

/// The beginning of a packet that came from a target.
pub fn write_packet(target: &Target) -> Vec<u8> {
    let mut bytes = vec![0; 3];
    match &target.host {
        Host::Address(address) => write_address(*address, &mut bytes),
        Host::Name(name) => {
            bytes.extend([3, name.len() as u8]);
            bytes.extend(name.as_bytes());
        }
    }
    bytes.extend(target.port.to_be_bytes());
    bytes
}

/// Reads an address from a place on; the target is `None` if there can be none of this name or port.
fn read_target(bytes: &[u8], from: usize) -> Read<Option<Target>> {
    let Some(&kind) = bytes.get(from) else { return Ok(None) };
    let (host, after) = match kind {
        1 => match bytes.get(from + 1..from + 5) {
            Some(&[a, b, c, d]) => (Some(Host::Address(Ipv4Addr::new(a, b, c, d).into())), from + 5),
            _ => return Ok(None),
        },
        4 => match bytes.get(from + 1..from + 17).and_then(|octets| <[u8; 16]>::try_from(octets).ok()) {
            Some(octets) => (Some(Host::Address(Ipv6Addr::from(octets).into())), from + 17),
            None => return Ok(None),
        },
        3 => match counted(bytes, from + 1) {
            Some((name, after)) => (str::from_utf8(name).ok().and_then(|name| Host::parse(name).ok()), after),
            None => return Ok(None),
        },
        other => return Err(SocksError::Kind(other)),
    };
    let Some(&[high, low]) = bytes.get(after..after + 2) else { return Ok(None) };
    let port = u16::from_be_bytes([high, low]);
    let target = host.filter(|_| port > 0).map(|host| Target { host, port });
    Ok(Some((target, after + 2)))
}

/// The bytes that a count at a place announces, and where they end.
fn counted(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let end = at + 1 + usize::from(*bytes.get(at)?);
    bytes.get(at + 1..end).map(|counted| (counted, end))
}

/// The answer to a request, with the address that the server uses for it.
pub fn write_reply(reply: Reply, address: SocketAddr) -> Vec<u8> {
    let mut bytes = vec![VERSION, reply as u8, 0];
    write_address(address.ip(), &mut bytes);
    bytes.extend(address.port().to_be_bytes());
    bytes
}

fn write_address(address: IpAddr, bytes: &mut Vec<u8>) {
    match address {
        IpAddr::V4(ip) => {
            bytes.push(1);
            bytes.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            bytes.push(4);
            bytes.extend(ip.octets());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What curl 8 sends for `--socks5-hostname` with a name and a password.
    const GREETING: &[u8] = &[5, 2, 0, 2];
    const PASSWORD: &[u8] = b"\x01\x04user\x06secret";
    const CONNECT: &[u8] = b"\x05\x01\x00\x03\x0bexample.org\x01\xbb";

    #[test]
    fn the_messages_of_a_client_are_read() {
        assert_eq!(read_methods(GREETING), Ok(Some((vec![0, 2], 4))));
        assert_eq!(read_password(PASSWORD), Ok(Some(((b"user".to_vec(), b"secret".to_vec()), PASSWORD.len()))));
        let target = |text: &str| Request::Connect(text.parse().unwrap());
        assert_eq!(read_request(CONNECT), Ok(Some((target("example.org:443"), CONNECT.len()))));
        let v4 = [5, 1, 0, 1, 192, 0, 2, 1, 0, 80];
        assert_eq!(read_request(&v4), Ok(Some((target("192.0.2.1:80"), v4.len()))));
        let v6 = [&[5, 1, 0, 4, 0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1, 0, 80]].concat();
        assert_eq!(read_request(&v6), Ok(Some((target("[2001:db8::1]:80"), v6.len()))));
        // Bytes that follow belong to what comes next.
        assert_eq!(read_methods(&[5, 1, 0, 9, 9]), Ok(Some((vec![0], 3))));
        // A place for datagrams is asked for with any address, often with none.
        assert_eq!(read_request(&[5, 3, 0, 1, 0, 0, 0, 0, 0, 0]), Ok(Some((Request::Associate, 10))));
        assert_eq!(read_request(&[5, 2, 0, 1, 0, 0, 0, 0, 0, 0]), Ok(Some((Request::Other(2), 10))));
    }

    #[test]
    fn packets_read_as_they_are_written() {
        for text in ["192.0.2.1:53", "[2001:db8::1]:443", "example.org:53"] {
            let target: Target = text.parse().unwrap();
            let begin = write_packet(&target);
            assert_eq!(read_packet(&[&begin[..], b"payload"].concat()), Some((target, begin.len())));
            let fragment = [&begin[..2], &[1], &begin[3..]].concat();
            assert_eq!(read_packet(&fragment), None);
            assert!((0..begin.len()).all(|end| read_packet(&begin[..end]).is_none()));
        }
        assert_eq!(read_packet(&[0, 0, 0, 1, 192, 0, 2, 1, 0, 0]), None, "there is no port 0");
    }

    #[test]
    fn half_of_a_message_waits_for_the_rest() {
        for end in 0..GREETING.len() {
            assert_eq!(read_methods(&GREETING[..end]), Ok(None));
        }
        for end in 0..PASSWORD.len() {
            assert_eq!(read_password(&PASSWORD[..end]), Ok(None));
        }
        for end in 0..CONNECT.len() {
            assert_eq!(read_request(&CONNECT[..end]), Ok(None));
        }
    }

    #[test]
    fn what_is_no_message_says_why() {
        assert_eq!(read_methods(b"GET / HTTP/1.1"), Err(SocksError::Version(b'G')));
        assert_eq!(read_request(&[4, 1, 0, 80]), Err(SocksError::Version(4)));
        assert_eq!(read_password(&[5, 0, 0]), Err(SocksError::Version(5)));
        assert_eq!(read_request(&[5, 1, 0, 2]), Err(SocksError::Kind(2)));
        assert_eq!(read_request(&[5, 1, 0, 1, 192, 0, 2, 1, 0, 0]), Err(SocksError::Target));
        assert_eq!(read_request(b"\x05\x01\x00\x03\x03a b\x00\x50"), Err(SocksError::Target));
        assert_eq!(read_request(&[5, 1, 0, 3, 0, 0, 80]), Err(SocksError::Target));
    }

    #[test]
    fn answers_are_those_of_the_standard() {
        assert_eq!(write_method(Method::Password), [5, 2]);
        assert_eq!(write_method(Method::Unacceptable), [5, 0xff]);
        assert_eq!((write_accepted(true), write_accepted(false)), ([1, 0], [1, 1]));
        let address = "192.0.2.1:1080".parse().unwrap();
        assert_eq!(write_reply(Reply::Refused, address), [5, 5, 0, 1, 192, 0, 2, 1, 4, 56]);
        assert_eq!(write_reply(Reply::Succeeded, "[::1]:1".parse().unwrap()).len(), 22);
    }

    proptest! {
        #[test]
        fn no_bytes_break_a_reader(bytes in proptest::collection::vec(any::<u8>(), 0..600), version in 0_u8..6) {
            let bytes = [&[version], &bytes[..]].concat();
            if let Some((_, used)) = read_packet(&bytes) {
                prop_assert!(used <= bytes.len());
            }
            for used in [
                read_methods(&bytes).map(|read| read.map(|(_, used)| used)),
                read_password(&bytes).map(|read| read.map(|(_, used)| used)),
                read_request(&bytes).map(|read| read.map(|(_, used)| used)),
            ].into_iter().flatten().flatten() {
                prop_assert!(used <= bytes.len().min(MOST_MESSAGE));
            }
        }
    }
}
