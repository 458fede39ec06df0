//! Targets: a host, by its name or address, and a port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Greatest length of a name [rfc1035, sec. 2.3.4].
const MOST_NAME: usize = 253;

/// Greatest length of a label of a name.
const MOST_LABEL: usize = 63;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name in small letters, without a dot at its end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A place to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// The reason why a text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// There is no port.
    #[error("`{0}` has no port; write example.org:443 or [2001:db8::1]:443")]
    NoPort(String),
    /// The port is no number from 1 to 65535.
    #[error("the port of `{0}` is not a number from 1 to 65535")]
    WrongPort(String),
    /// The host is neither a name nor an address.
    #[error("`{0}` is neither the name of a host nor an address")]
    WrongHost(String),
}

impl Host {
    /// Reads a name or an address without brackets.
    ///
    /// # Errors
    /// If the text is neither.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_label = |label: &str| {
            (1..=MOST_LABEL).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        // What ends with a number is an address to some resolvers, which read 127.1 and 0x7f000001 as loopback.
        let is_number = |label: &str| label.starts_with(|first: char| first.is_ascii_digit()) && !label.contains('-');
        let last = name.rsplit('.').next().unwrap_or_default();
        if name.len() > MOST_NAME || !name.split('.').all(is_label) || is_number(last) {
            return Err(TargetError::WrongHost(text.to_owned()));
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self { host: Host::Address(address.ip()), port: address.port() }
    }
}

impl FromStr for Target {
    type Err = TargetError;

    /// Reads `example.org:443`, `192.0.2.1:443` or `[2001:db8::1]:443`.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (host, port) = text.rsplit_once(':').ok_or_else(|| TargetError::NoPort(text.to_owned()))?;
        let is_digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| is_digits && *port > 0);
        let port = port.ok_or_else(|| TargetError::WrongPort(text.to_owned()))?;
        let wrong = || TargetError::WrongHost(host.to_owned());
        let host = match host.strip_prefix('[') {
            Some(rest) => {
                let inner = rest.strip_suffix(']').ok_or_else(wrong)?;
                Host::Address(IpAddr::V6(inner.parse::<Ipv6Addr>().map_err(|_| wrong())?))
            }
            // An address of IPv6 without brackets has several colons.
            None if host.contains(':') => return Err(wrong()),
            None => Host::parse(host)?,
        };
        Ok(Self { host, port })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn targets_read_as_they_are_written() {
        for text in ["example.org:443", "192.0.2.1:80", "[2001:db8::1]:65535", "a-b.c_d.xn--p1ai:1", "localhost:22"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert_eq!("Example.ORG.:443".parse::<Target>().unwrap().to_string(), "example.org:443");
    }

    #[test]
    fn what_is_no_target_says_why() {
        for (text, reason) in [
            ("example.org", "has no port"),
            ("example.org:", "is not a number"),
            ("example.org:0", "is not a number"),
            ("example.org:+1", "is not a number"),
            ("example.org:65536", "is not a number"),
            (":80", "neither the name"),
            ("a b:80", "neither the name"),
            ("a..b:80", "neither the name"),
            ("2001:db8::1:80", "neither the name"),
            ("[2001:db8::1:80", "neither the name"),
            ("[192.0.2.1]:80", "neither the name"),
            ("127.1:80", "neither the name"),
            ("0x7f000001:80", "neither the name"),
            ("2130706433:80", "neither the name"),
            (&format!("{}:80", "a".repeat(64)), "neither the name"),
        ] {
            let error = text.parse::<Target>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_reads_as_it_is_written(text in "\\PC{0,40}|[a-z0-9.:\\[\\]-]{0,40}") {
            if let Ok(target) = text.parse::<Target>() {
                prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
            }
        }
    }
}
