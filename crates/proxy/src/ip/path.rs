//! The path of a request for IP packets [rfc9484, sec. 3]: what they may reach is in it.

use std::net::IpAddr;

use ipnet::IpNet;
use percent_encoding::percent_decode_str;

use super::packet::Header;

/// What comes before the target.
const PREFIX: &str = "/.well-known/masque/ip/";

/// The path of a request for packets of all protocols to all addresses.
pub(crate) const ALL: &str = "/.well-known/masque/ip/*/*/";

/// What packets a client asks for: to some addresses, and of some protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scope {
    pub network: Option<IpNet>,
    pub protocol: Option<u8>,
}

/// Why a path names no packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It is none.
    Path,
    /// It names a host by its name.
    Name,
}

impl Scope {
    /// Reads a path.
    ///
    /// # Errors
    /// If it names no packets.
    pub fn read(path: &str) -> Result<Self, Wrong> {
        let (target, rest) = path.strip_prefix(PREFIX).and_then(|rest| rest.split_once('/')).ok_or(Wrong::Path)?;
        let decode = |text| percent_decode_str(text).decode_utf8().map_err(|_| Wrong::Path);
        let (target, protocol) = (decode(target)?, decode(rest.strip_suffix('/').unwrap_or(rest))?);
        let network = match &*target {
            "*" => None,
            text => match (text.parse::<IpNet>(), text.parse::<IpAddr>()) {
                (Ok(network), _) if network.trunc() == network => Some(network),
                (_, Ok(address)) => Some(address.into()),
                _ if text.is_empty() || text.contains('/') => return Err(Wrong::Path),
                _ => return Err(Wrong::Name),
            },
        };
        let is_number = !protocol.is_empty() && protocol.bytes().all(|byte| byte.is_ascii_digit());
        let protocol = match &*protocol {
            "*" => None,
            text => Some(text.parse().ok().filter(|_| is_number).ok_or(Wrong::Path)?),
        };
        Ok(Self { network, protocol })
    }

    /// Whether a packet is one of these. Those of ICMP always are [rfc9484, sec. 4.7.3].
    pub fn has(&self, header: &Header) -> bool {
        self.network.is_none_or(|network| network.contains(&header.destination))
            && self.protocol.is_none_or(|protocol| protocol == header.protocol || header.is_message())
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::{self, tests::v4};
    use super::*;

    #[test]
    fn paths_are_those_of_the_standard() {
        let read = |path: &str| Scope::read(&format!("{PREFIX}{path}"));
        assert_eq!(Scope::read(ALL), Ok(Scope::default()));
        assert_eq!(read("%2A/%2A/"), Ok(Scope::default()));
        let wanted = Scope { network: Some("192.0.2.0/24".parse().unwrap()), protocol: Some(17) };
        assert_eq!(read("192.0.2.0%2F24/17/"), Ok(wanted));
        let wanted = Scope { network: Some("2001:db8::42/128".parse().unwrap()), protocol: None };
        assert_eq!(read("2001%3Adb8%3A%3A42/*/"), Ok(wanted));
        assert_eq!(read("target.example/132/"), Err(Wrong::Name));
        for wrong in ["", "*", "*/", "*/256/", "*/+6/", "*/*/x", "192.0.2.1%2F24/*/", "/*/", "%ff/*/", "*/x/"] {
            assert_eq!(read(wrong), Err(Wrong::Path), "{wrong}");
        }
        assert_eq!(Scope::read("/.well-known/masque/udp/*/*/"), Err(Wrong::Path));
    }

    #[test]
    fn packets_are_of_the_protocol_or_of_icmp() {
        let header = |protocol| packet::read(&v4("10.0.0.1", "192.0.2.1", protocol, &[0; 8])).unwrap();
        let scope = Scope { network: Some("192.0.2.0/24".parse().unwrap()), protocol: Some(17) };
        assert!(scope.has(&header(17)) && scope.has(&header(1)));
        // Protocol 58 is ICMP in packets of IPv6 alone.
        assert!(!scope.has(&header(6)) && !scope.has(&header(58)));
        assert!(Scope::default().has(&header(6)));
        let other = Scope { network: Some("198.51.100.0/24".parse().unwrap()), protocol: None };
        assert!(!other.has(&header(17)));
    }
}
