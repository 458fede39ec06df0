//! What the file of an agent says about keeping traffic to rates, as it is written.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use anabranch_enforce::{IpNet, Protocol, Traffic};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// The table `[enforce]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What carries commands out.
    pub backend: Kind,
    /// The bits of packet marks that are used; those of [`anabranch_enforce::Setup`] if absent.
    #[serde(default)]
    pub mark_mask: Option<u32>,
    /// The routing table before the first that is used.
    #[serde(default)]
    pub tables: Option<u32>,
    /// The priority of the first routing rule that is used.
    #[serde(default)]
    pub priorities: Option<u32>,
}

/// What carries commands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The kernel of this machine.
    Kernel,
    /// Nothing: commands are printed.
    Print,
}

impl Kind {
    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kernel => "kernel",
            Kind::Print => "print",
        }
    }
}

/// The segments of a node, or of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Segment {
    /// The segment that leads packets over the node (End), or over the link (End.X).
    pub end: Option<Ipv6Addr>,
    /// The segment at which the node unpacks packets (End.DX4, End.DX6 or End.DT46).
    pub unpack: Option<Ipv6Addr>,
}

/// A match of a session: a packet belongs to the session if it fits every key.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// Prefixes or addresses of destinations.
    pub to: Vec<Prefix>,
    /// Prefixes or addresses of sources.
    pub from: Vec<Prefix>,
    /// The protocol.
    pub protocol: Option<Carried>,
    /// Ports of destinations.
    pub ports: Vec<Ports>,
    /// Ports of sources.
    pub from_ports: Vec<Ports>,
    /// A mark that other software gives.
    pub mark: Option<Mark>,
    /// The control group of a local program.
    pub cgroup: Option<String>,
}

impl Match {
    /// The match as enforcement takes it, which uses some bits of marks itself.
    pub(crate) fn traffic(&self, mark_mask: u32) -> Traffic {
        Traffic {
            sources: self.from.iter().map(|prefix| prefix.0).collect(),
            destinations: self.to.iter().map(|prefix| prefix.0).collect(),
            protocol: self.protocol.map(|carried| carried.0),
            source_ports: self.from_ports.iter().map(|ports| ports.0.clone()).collect(),
            destination_ports: self.ports.iter().map(|ports| ports.0.clone()).collect(),
            mark: self.mark.map(|mark| (mark.0, mark.1.unwrap_or(!mark_mask))),
            cgroup: self.cgroup.clone(),
        }
    }
}

/// A prefix of addresses, such as `198.51.100.0/24`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix(IpNet);

/// A protocol over IP: `tcp`, `udp` or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried(Protocol);

/// A port, or a range such as `5000-5099`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(RangeInclusive<u16>);

/// A mark, such as 7, or a mark under a mask, such as `0x10/0xff`. Without a mask all bits count that enforcement leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u32, Option<u32>);

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
        let prefix = text.parse::<IpNet>().ok().or_else(address);
        prefix
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no prefix; one is written as 198.51.100.0/24 or 2001:db8::/32"))
    }
}

impl FromStr for Carried {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tcp" => Ok(Self(Protocol::Tcp)),
            "udp" => Ok(Self(Protocol::Udp)),
            _ => Err(format!("`{text}` is no protocol; it may be \"tcp\", \"udp\" or a number, such as 47")),
        }
    }
}

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) => Ok(Self(first..=last)),
            _ => Err(format!("`{text}` are no ports; write one, such as 443, or a range, such as \"5000-5099\"")),
        }
    }
}

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| match text.trim().strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.trim().parse().ok(),
        };
        let found = match text.split_once('/') {
            Some((mark, mask)) => number(mark).zip(number(mask)).map(|(mark, mask)| Self(mark, Some(mask))),
            None => number(text).map(|mark| Self(mark, None)),
        };
        found.ok_or_else(|| format!("`{text}` is no mark; one is written as 7, or with a mask as \"0x10/0xff\""))
    }
}

impl From<u16> for Ports {
    fn from(port: u16) -> Self {
        Self(port..=port)
    }
}

impl From<u8> for Carried {
    fn from(number: u8) -> Self {
        Self(match number {
            6 => Protocol::Tcp,
            17 => Protocol::Udp,
            number => Protocol::Number(number),
        })
    }
}

impl From<u32> for Mark {
    fn from(mark: u32) -> Self {
        Self(mark, None)
    }
}

/// Reads a text or a number.
struct TextOr<T, N>(std::marker::PhantomData<(T, N)>);

impl<T: FromStr<Err = String> + From<N>, N: TryFrom<i64>> Visitor<'_> for TextOr<T, N> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        N::try_from(number).map(T::from).or_else(|_| number.to_string().parse().map_err(E::custom))
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Carried {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOr::<Self, u8>(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Ports {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOr::<Self, u16>(std::marker::PhantomData))
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOr::<Self, u32>(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Match, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_match_has_prefixes_ports_a_protocol_a_mark_and_a_group() {
        let text = "to = [\"198.51.100.0/24\", \"2001:db8::7\"]\nfrom = [\"10.0.0.0/8\"]\nprotocol = \"tcp\"\n\
                    ports = [443, \"5000-5099\"]\nmark = \"0x10/0xff\"\ncgroup = \"system.slice/backup.service\"\n";
        let traffic = read(text).unwrap().traffic(0xff00);
        let prefixes = |all: &[IpNet]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(prefixes(&traffic.destinations), "198.51.100.0/24 2001:db8::7/128");
        assert_eq!(prefixes(&traffic.sources), "10.0.0.0/8");
        assert_eq!(traffic.protocol, Some(Protocol::Tcp));
        assert_eq!(traffic.destination_ports, [443..=443, 5000..=5099]);
        assert_eq!((traffic.mark, &*traffic.cgroup.unwrap()), (Some((16, 255)), "system.slice/backup.service"));
        assert_eq!(read("mark = 7").unwrap().traffic(0xff00).mark, Some((7, 0xffff_00ff)));
        assert_eq!(read("protocol = 47").unwrap().traffic(0xff00).protocol, Some(Protocol::Number(47)));
        assert_eq!(read("protocol = 17").unwrap().traffic(0xff00).protocol, Some(Protocol::Udp));
    }

    #[test]
    fn what_cannot_be_meant_is_named_with_what_would_do() {
        for (text, said) in [
            ("to = [\"198.51.100.0/33\"]", "`198.51.100.0/33` is no prefix; one is written as 198.51.100.0/24"),
            ("protocol = \"tpc\"", "`tpc` is no protocol; it may be \"tcp\", \"udp\" or a number"),
            ("protocol = 300", "`300` is no protocol"),
            ("ports = [\"5000-x\"]", "`5000-x` are no ports; write one, such as 443"),
            ("ports = [70000]", "`70000` are no ports"),
            ("mark = \"0x10/y\"", "`0x10/y` is no mark; one is written as 7"),
            ("mark = -1", "`-1` is no mark"),
            ("dest = []", "unknown field `dest`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
