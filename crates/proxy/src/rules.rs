//! Which targets an exit connects to.
//!
//! A rule allows a network, the public addresses or names, each with all ports or some. Without rules only public
//! addresses are allowed, so that nobody reaches the exit's own machine and its neighbours through it. A name that no
//! rule allows is resolved, and its addresses decide.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::target::{Host, Target};

/// Hosts that a rule allows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    /// All addresses that the whole Internet can reach.
    Public,
    /// The addresses of a network.
    Network(IpNet),
    /// A name.
    Name(String),
    /// All names that end with this text, which begins with a dot.
    Below(String),
}

/// A rule that allows targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    hosts: Hosts,
    ports: RangeInclusive<u16>,
}

/// The reason why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` allows nothing; write `public`, a network such as 10.0.0.0/8, an address, a name or *.example.org, each with a \
     port or a range of ports behind a colon if it is for these alone, such as *.example.org:443 or [2001:db8::]/32:80-90"
)]
pub struct RuleError(String);

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = || RuleError(text.to_owned());
        if let Some(hosts) = hosts(text) {
            return Ok(Self { hosts, ports: 1..=u16::MAX });
        }
        let (before, ports) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
        let port = |digits: &str| digits.parse::<u16>().ok().filter(|port| *port > 0 && !digits.starts_with('+'));
        let ports = port(first).zip(port(last)).filter(|(first, last)| first <= last).ok_or_else(wrong)?;
        // An address of IPv6 before a port has brackets; otherwise the port could be the end of the address.
        let is_bare = before.contains(':') && !before.starts_with('[');
        let hosts = hosts(before).filter(|_| !is_bare).ok_or_else(wrong)?;
        Ok(Self { hosts, ports: ports.0..=ports.1 })
    }
}

fn hosts(text: &str) -> Option<Hosts> {
    // Names are the same in capitals, so this is no name of a host either.
    if text.eq_ignore_ascii_case("public") {
        return Some(Hosts::Public);
    }
    if let Some(below) = text.strip_prefix('*') {
        return match Host::parse(below.strip_prefix('.')?).ok()? {
            Host::Name(name) => Some(Hosts::Below(format!(".{name}"))),
            Host::Address(_) => None,
        };
    }
    let plain = unbracketed(text)?;
    if let Ok(network) = plain.parse::<IpNet>() {
        return Some(Hosts::Network(of_v4(network)?.trunc()));
    }
    match Host::parse(&plain).ok()? {
        Host::Address(address) => Some(Hosts::Network(self::plain(address).into())),
        Host::Name(name) => Some(Hosts::Name(name)),
    }
}

/// An address or a network of IPv6 without its brackets; any other text as it is.
fn unbracketed(text: &str) -> Option<String> {
    let Some(rest) = text.strip_prefix('[') else { return (!text.contains(']')).then(|| text.to_owned()) };
    let (address, length) = rest.split_once(']')?;
    let is_fine = address.contains(':') && (length.is_empty() || length.starts_with('/'));
    is_fine.then(|| format!("{address}{length}"))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Public => f.write_str("public")?,
            Hosts::Network(IpNet::V6(network)) => write!(f, "[{}]/{}", network.addr(), network.prefix_len())?,
            Hosts::Network(IpNet::V4(network)) => write!(f, "{network}")?,
            Hosts::Name(name) => f.write_str(name)?,
            Hosts::Below(ending) => write!(f, "*{ending}")?,
        }
        let (first, last) = (*self.ports.start(), *self.ports.end());
        match (first, last) {
            (1, u16::MAX) => Ok(()),
            _ if first == last => write!(f, ":{first}"),
            _ => write!(f, ":{first}-{last}"),
        }
    }
}

/// The rules of an exit.
#[derive(Clone, Debug)]
pub struct Rules(Vec<Rule>);

impl Default for Rules {
    /// Public addresses alone.
    fn default() -> Self {
        Self(vec![Rule { hosts: Hosts::Public, ports: 1..=u16::MAX }])
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<T: IntoIterator<Item = Rule>>(rules: T) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl Rules {
    /// Whether a target may be tried at all: some of its addresses may be allowed.
    pub fn may_allow(&self, target: &Target) -> bool {
        match &target.host {
            Host::Address(address) => self.allow(target, SocketAddr::new(*address, target.port)),
            Host::Name(_) => self.0.iter().any(|rule| rule.ports.contains(&target.port)),
        }
    }

    /// Whether an address of a target is allowed by a rule that names it, and not only as one of all that are public.
    pub fn name(&self, target: &Target, address: SocketAddr) -> bool {
        let named = self.0.iter().filter(|rule| rule.hosts != Hosts::Public).cloned();
        Self(named.collect()).allow(target, address)
    }

    /// Whether an address of a target is allowed.
    pub fn allow(&self, target: &Target, address: SocketAddr) -> bool {
        let ip = plain(address.ip());
        self.0.iter().filter(|rule| rule.ports.contains(&address.port())).any(|rule| {
            match (&rule.hosts, &target.host) {
                (Hosts::Public, _) => is_public(ip),
                (Hosts::Network(network), _) => network.contains(&ip),
                (Hosts::Name(name), Host::Name(asked)) => name == asked,
                (Hosts::Below(ending), Host::Name(asked)) => asked.ends_with(ending),
                (Hosts::Name(_) | Hosts::Below(_), Host::Address(_)) => false,
            }
        })
    }
}

/// What rules say of packets without names.
impl Rules {
    /// Whether packets to an address are allowed; those without a port of a target by rules for all ports alone.
    pub fn allow_packets(&self, to: IpAddr, port: Option<u16>) -> bool {
        self.0.iter().any(|rule| rule.has(to, port))
    }

    /// Whether packets to an address are allowed by a rule that names it.
    pub fn name_packets(&self, to: IpAddr, port: Option<u16>) -> bool {
        self.0.iter().any(|rule| rule.hosts != Hosts::Public && rule.has(to, port))
    }

    /// The networks to which some packets are allowed; public addresses are all.
    pub fn networks(&self) -> Vec<IpNet> {
        let networks = self.0.iter().flat_map(|rule| match &rule.hosts {
            Hosts::Public => vec![IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())],
            Hosts::Network(network) => vec![*network],
            Hosts::Name(_) | Hosts::Below(_) => Vec::new(),
        });
        IpNet::aggregate(&networks.collect())
    }
}

impl Rule {
    /// Whether packets to an address and a port are allowed: a name says nothing of them.
    fn has(&self, to: IpAddr, port: Option<u16>) -> bool {
        let has_port = port.map_or(self.ports == (1..=u16::MAX), |port| self.ports.contains(&port));
        has_port
            && match &self.hosts {
                Hosts::Public => is_public(to),
                Hosts::Network(network) => network.contains(&plain(to)),
                Hosts::Name(_) | Hosts::Below(_) => false,
            }
    }
}

/// The network that packets go to: of one that stands for a network of IPv4, that network; nothing if it has others too.
fn of_v4(network: IpNet) -> Option<IpNet> {
    let IpNet::V6(v6) = network else { return Some(network) };
    match v6.addr().to_ipv4_mapped() {
        Some(v4) => IpNet::new(v4.into(), v6.prefix_len().checked_sub(96)?).ok(),
        None => Some(network),
    }
}

/// The address that packets go to: of one that stands for an address of IPv4, that address.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) => address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Whether the whole Internet can reach an address, by the registries of special addresses [rfc6890].
fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match a {
        // This network, private, loopback, multicast, reserved and broadcast.
        0 | 10 | 127 | 224..=255 => true,
        // Shared among customers of a provider.
        100 => (64..128).contains(&b),
        169 => b == 254,
        172 => (16..32).contains(&b),
        // Protocols, documentation, the former relays of 6to4, private.
        192 => (b == 0 && (c == 0 || c == 2)) || (b == 88 && c == 99) || b == 168,
        // Benchmarks, documentation.
        198 => b == 18 || b == 19 || (b == 51 && c == 100),
        203 => b == 0 && c == 113,
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let s = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        // What a translator sends on to an address of IPv4 counts as that address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // Protocols, Teredo among them, and documentation.
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [0x3fff, second, ..] => second >= 0x1000,
        // What has been given to networks.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rules: &[&str], target: &str, address: &str) -> bool {
        let rules: Rules = rules.iter().map(|rule| rule.parse::<Rule>().unwrap()).collect();
        let target: Target = target.parse().unwrap();
        rules.allow(&target, SocketAddr::new(address.parse().unwrap(), target.port))
    }

    #[test]
    fn without_rules_only_public_addresses_are_allowed() {
        let rules = Rules::default();
        let target: Target = "any.example:80".parse().unwrap();
        let is_allowed = |ip: &str| rules.allow(&target, SocketAddr::new(ip.parse().unwrap(), 80));
        for ip in [
            "8.8.8.8",
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.3.1",
            "223.255.255.1",
        ] {
            assert!(is_allowed(ip) && is_allowed(&format!("::ffff:{ip}")), "{ip}");
        }
        for ip in ["2606:4700::1", "2a00::1", "64:ff9b::808:808", "2002:808:808::1", "2001:200::1"] {
            assert!(is_allowed(ip), "{ip}");
        }
        for ip in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!is_allowed(ip) && !is_allowed(&format!("::ffff:{ip}")), "{ip}");
        }
        for ip in [
            "::",
            "::1",
            "::7f00:1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:c0a8:101::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!is_allowed(ip), "{ip}");
        }
    }

    #[test]
    fn rules_allow_what_they_name() {
        assert!(allows(&["10.0.0.0/8"], "10.1.2.3:22", "10.1.2.3"));
        assert!(!allows(&["10.0.0.0/8"], "example.org:22", "8.8.8.8"));
        assert!(allows(&["10.0.0.7:22"], "10.0.0.7:22", "10.0.0.7"));
        assert!(!allows(&["10.0.0.7:22"], "10.0.0.7:23", "10.0.0.7"));
        assert!(allows(&["[fd00::]/8:80-90"], "[fd00::1]:90", "fd00::1"));
        assert!(!allows(&["[fd00::]/8:80-90"], "[fd00::1]:91", "fd00::1"));
        // A name that is allowed may be at any address; its addresses by themselves are not allowed.
        assert!(allows(&["intranet.example"], "intranet.example:443", "10.0.0.1"));
        assert!(!allows(&["intranet.example"], "10.0.0.1:443", "10.0.0.1"));
        assert!(allows(&["*.example.org:443"], "a.b.example.org:443", "10.0.0.1"));
        assert!(!allows(&["*.example.org:443"], "example.org:443", "10.0.0.1"));
        assert!(!allows(&["*.example.org"], "badexample.org:443", "8.8.8.8"));
        assert!(allows(&["*.example.org", "public"], "other.example:443", "8.8.8.8"));
        // A name that leads to an address within is held to the address.
        assert!(!allows(&["public"], "rebound.example:80", "127.0.0.1"));
    }

    #[test]
    fn packets_are_allowed_by_their_addresses_and_ports() {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse::<Rule>().unwrap()).collect::<Rules>();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let web = rules(&["public:443", "10.1.0.0/16", "intranet.example"]);
        assert!(web.allow_packets(ip("8.8.8.8"), Some(443)) && !web.name_packets(ip("8.8.8.8"), Some(443)));
        assert!(!web.allow_packets(ip("8.8.8.8"), Some(80)) && !web.allow_packets(ip("8.8.8.8"), None));
        assert!(web.allow_packets(ip("10.1.2.3"), None) && web.name_packets(ip("10.1.2.3"), Some(22)));
        assert!(!web.allow_packets(ip("10.2.0.1"), None) && !web.allow_packets(ip("10.1.2.3"), Some(0)));
        let by_default = Rules::default();
        assert!(by_default.allow_packets(ip("2606:4700::1"), None));
        for private in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fe80::1", "fd00::1", "224.0.0.1", "ff02::1"] {
            assert!(!by_default.allow_packets(ip(private), None), "{private}");
        }
        assert_eq!(by_default.networks(), ["0.0.0.0/0", "::/0"].map(|text| text.parse().unwrap()));
        let two = rules(&["10.0.0.0/9", "10.128.0.0/9", "10.3.0.0/16:22", "a.example"]);
        assert_eq!(two.networks(), ["10.0.0.0/8".parse().unwrap()]);
    }

    #[test]
    fn rules_read_as_they_are_written() {
        for text in [
            "public",
            "public:443",
            "10.0.0.0/8",
            "10.0.0.0/8:80-90",
            "[2001:db8::]/32:80",
            "[2001:db8::]/32",
            "example.org",
            "example.org:443",
            "*.example.org",
            "*.example.org:1-1024",
        ] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        assert_eq!("PubLic:80".parse::<Rule>().unwrap().to_string(), "public:80");
        assert_eq!("10.1.2.3".parse::<Rule>().unwrap().to_string(), "10.1.2.3/32");
        assert_eq!("[::ffff:10.0.0.0]/104:22".parse::<Rule>().unwrap().to_string(), "10.0.0.0/8:22");
        assert_eq!("[::ffff:10.0.0.1]".parse::<Rule>().unwrap().to_string(), "10.0.0.1/32");
        assert_eq!("2001:db8::1".parse::<Rule>().unwrap().to_string(), "[2001:db8::1]/128");
        assert_eq!("[2001:db8::1]:22".parse::<Rule>().unwrap().to_string(), "[2001:db8::1]/128:22");
        for text in [
            "",
            "*",
            "*example.org",
            "*.10.0.0.1",
            "10.0.0.0/33",
            "a:0",
            "a:9-8",
            "a:+1",
            "a:b",
            "a b",
            "[10.0.0.1]",
            "[a]",
            "[::ffff:0.0.0.0]/90",
            "[2001:db8::1",
            "2001:db8::1]:80",
            "public:",
            ":80",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}
