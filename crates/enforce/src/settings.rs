//! What is kept to rates: devices, sessions, their traffic and their paths.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::time::Duration;

use anabranch_core::Rate;
pub use ipnet::IpNet;
use thiserror::Error;

/// The most paths of a session.
pub const MOST_PATHS: usize = 32;

/// The number of the first class of a path at a device; smaller numbers are those of the tree itself.
pub(crate) const FIRST_CLASS: u32 = 0x100;

/// The priority of the kernel's rule for the main table; rules after it have no effect.
const MAIN_RULE: u64 = 32_766;

/// The settings that hold for all sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The devices whose traffic is shaped.
    pub devices: Vec<Device>,
    /// The bits of packet marks that are used here, without gaps. A path has a number in these bits, so they limit the
    /// number of paths. Other bits stay as they are.
    pub mark_mask: u32,
    /// The routing table before the first that is used here; path `n` has table `tables + n`.
    pub tables: u32,
    /// The priority of the first routing rule that is used here; path `n` has priority `priorities + n`.
    pub priorities: u32,
    /// The time after which a granted rate falls by half unless it is repeated.
    pub lease: Duration,
}

/// A network device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name, such as `eth0`.
    pub name: String,
    /// The rate that all traffic through the device shares. Other traffic gets what sessions leave, and at least a
    /// hundredth. Without a capacity other traffic is not shaped.
    pub capacity: Option<Rate>,
}

/// Traffic from one place to another, over one or several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// A name that no other session has.
    pub name: String,
    /// The traffic that belongs to the session: packets that match any of these. Where several sessions match, the first
    /// has the packet.
    pub traffic: Vec<Traffic>,
    /// The paths, 1 to [`MOST_PATHS`].
    pub paths: Vec<Path>,
}

/// A way of a session's packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The device that packets leave through; one of those of the setup.
    pub device: String,
    /// The route.
    pub route: Route,
}

/// The route of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The route that packets have anyway.
    Ordinary,
    /// A router next to the device, as with several uplinks.
    Via {
        /// The router's address; packets of its family alone take the route.
        gateway: IpAddr,
        /// The source address that packets get, if the uplink takes no other.
        source: Option<IpAddr>,
    },
    /// A list of IPv6 segments, in the order in which packets visit them (SRv6, RFC 8754). IPv4 and IPv6 packets travel
    /// inside; the last segment unpacks them.
    ///
    /// Packets grow by 48 bytes and by 16 for each segment. Programs of this machine do not notice: their ordinary route
    /// needs an `mtu` that leaves room, or all devices on the way a larger one.
    Segments(Vec<Ipv6Addr>),
}

/// A match: a packet matches if it fits every field that is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The prefixes of source addresses.
    pub sources: Vec<IpNet>,
    /// The prefixes of destination addresses.
    pub destinations: Vec<IpNet>,
    /// The protocol.
    pub protocol: Option<Protocol>,
    /// Source ports of TCP, UDP or SCTP.
    pub source_ports: Vec<RangeInclusive<u16>>,
    /// Destination ports of TCP, UDP or SCTP.
    pub destination_ports: Vec<RangeInclusive<u16>>,
    /// A mark that other software gives, and the mask under which it is compared.
    pub mark: Option<(u32, u32)>,
    /// The control group (version 2) of the local program that sends, relative to its root, such as
    /// `system.slice/backup.service`. It must exist when the session is set.
    pub cgroup: Option<String>,
}

/// A protocol over IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP, and so QUIC.
    Udp,
    /// Another one, by its number.
    Number(u8),
}

/// A setting that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct SettingError {
    /// The setting.
    pub place: String,
    /// What is wrong, and what would do.
    pub problem: String,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            devices: Vec::new(),
            mark_mask: 0x0fff_0000,
            tables: 700_000,
            priorities: 20_000,
            lease: Duration::from_secs(2),
        }
    }
}

impl Device {
    /// Checks what can be known without the kernel.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        let place = format!("device {:?}", self.name);
        if !is_device_name(&self.name) {
            return wrong(&place, "a name has 1 to 15 letters, digits or `-_.@`".to_owned());
        }
        if self.capacity.is_some_and(|rate| !(1e5..=1e12).contains(&rate.0)) {
            return wrong(&place, "a capacity is 100 kbit/s to 1 Tbit/s".to_owned());
        }
        Ok(())
    }
}

impl Setup {
    /// The greatest number of a path. Half as many paths can be there at a time: when paths change, those that come have
    /// other numbers than those that go.
    pub fn most_paths(&self) -> u32 {
        let shift = self.mark_mask.trailing_zeros().min(31);
        (self.mark_mask >> shift).min(0xffff - FIRST_CLASS)
    }

    /// The mark of a path.
    pub(crate) fn mark(&self, path: u32) -> u32 {
        path << self.mark_mask.trailing_zeros()
    }

    /// Checks everything that can be known without the kernel.
    ///
    /// # Errors
    /// Returns an error for the first setting that cannot be meant.
    pub fn check(&self) -> Result<(), SettingError> {
        let bits = self.mark_mask.checked_shr(self.mark_mask.trailing_zeros()).unwrap_or(0);
        if bits == 0 || bits & bits.wrapping_add(1) != 0 {
            return wrong("mark_mask", format!("{:#x} is no row of bits, such as 0x0fff0000", self.mark_mask));
        }
        let last = u64::from(self.priorities) + u64::from(self.most_paths()) + 1;
        if self.priorities == 0 || last >= MAIN_RULE {
            return wrong(
                "priorities",
                format!("rules from {} to {last} must lie between 1 and {}", self.priorities, MAIN_RULE - 1),
            );
        }
        if self.tables < 256 || self.tables.checked_add(self.most_paths()).is_none() {
            return wrong("tables", format!("{} must be 256 or more, and leave room for all paths", self.tables));
        }
        if self.lease < Duration::from_millis(10) || self.lease > Duration::from_hours(24) {
            return wrong("lease", "it must be from 10 ms to a day".to_owned());
        }
        let mut names = HashSet::new();
        for device in &self.devices {
            device.check()?;
            if !names.insert(&device.name) {
                return wrong(&format!("device {:?}", device.name), "it is named twice".to_owned());
            }
        }
        if self.devices.is_empty() { wrong("devices", "name at least one".to_owned()) } else { Ok(()) }
    }

    /// Checks sessions against the setup.
    ///
    /// # Errors
    /// Returns an error for the first setting that cannot be meant.
    pub fn check_sessions(&self, sessions: &[Session]) -> Result<(), SettingError> {
        let mut names = HashSet::new();
        let paths: usize = sessions.iter().map(|session| session.paths.len()).sum();
        let most = self.most_paths() as usize / 2;
        if paths > most {
            return wrong(
                "sessions",
                format!("they have {paths} paths; {most} fit into mark_mask, which may be wider"),
            );
        }
        for session in sessions {
            let place = format!("session {:?}", session.name);
            if session.name.is_empty() || session.name.len() > 64 || session.name.chars().any(char::is_control) {
                return wrong(&place, "a name has 1 to 64 bytes, and no control characters".to_owned());
            }
            if !names.insert(&session.name) {
                return wrong(&place, "the name is taken by a session before".to_owned());
            }
            if session.paths.is_empty() || session.paths.len() > MOST_PATHS {
                return wrong(&place, format!("it has {} paths; 1 to {MOST_PATHS} do", session.paths.len()));
            }
            if session.traffic.is_empty() {
                return wrong(&place, "no traffic belongs to it".to_owned());
            }
            for path in &session.paths {
                self.check_path(&place, path)?;
            }
            for traffic in &session.traffic {
                self.check_traffic(&place, traffic)?;
            }
        }
        Ok(())
    }

    fn check_path(&self, place: &str, path: &Path) -> Result<(), SettingError> {
        if !self.devices.iter().any(|device| device.name == path.device) {
            return wrong(place, format!("its path is over {:?}, which is not among the devices", path.device));
        }
        match &path.route {
            Route::Via { gateway, source: Some(source) } if gateway.is_ipv4() != source.is_ipv4() => {
                wrong(place, format!("the source {source} and the gateway {gateway} are of two families"))
            }
            Route::Segments(segments) if segments.is_empty() || segments.len() > 16 => {
                wrong(place, format!("a path has {} segments; 1 to 16 do", segments.len()))
            }
            _ => Ok(()),
        }
    }

    fn check_traffic(&self, place: &str, traffic: &Traffic) -> Result<(), SettingError> {
        if *traffic == Traffic::default() {
            return wrong(
                place,
                "a match without any field would take all traffic; name prefixes 0.0.0.0/0 and ::/0 \
                                 if that is meant"
                    .to_owned(),
            );
        }
        let of = |prefixes: &[IpNet], four: bool| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| matches!(prefix, IpNet::V4(_)) == four)
        };
        if ![true, false].iter().any(|&four| of(&traffic.sources, four) && of(&traffic.destinations, four)) {
            return wrong(place, "no packet has a source and a destination of two families".to_owned());
        }
        let has_ports = !traffic.source_ports.is_empty() || !traffic.destination_ports.is_empty();
        if has_ports && matches!(traffic.protocol, Some(Protocol::Number(number)) if ![6, 17, 132].contains(&number)) {
            return wrong(place, "only TCP, UDP and SCTP have ports".to_owned());
        }
        if traffic.source_ports.iter().chain(&traffic.destination_ports).any(RangeInclusive::is_empty) {
            return wrong(place, "a range of ports is empty".to_owned());
        }
        if let Some((value, mask)) = traffic.mark {
            if mask & self.mark_mask != 0 {
                return wrong(place, format!("its mark mask {mask:#x} overlaps mark_mask {:#x}", self.mark_mask));
            }
            if value & !mask != 0 || mask == 0 {
                return wrong(place, format!("no mark is {value:#x} under the mask {mask:#x}"));
            }
        }
        match &traffic.cgroup {
            Some(path) if !is_cgroup_path(path) => wrong(
                place,
                format!(
                    "{path:?} is no control group; one is named relative to the root, such as \
                         \"system.slice/backup.service\""
                ),
            ),
            _ => Ok(()),
        }
    }
}

fn wrong(place: &str, problem: String) -> Result<(), SettingError> {
    Err(SettingError { place: place.to_owned(), problem })
}

/// Whether the text can stand in commands as a device.
fn is_device_name(name: &str) -> bool {
    (1..=15).contains(&name.len())
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@".contains(c))
        && ![".", ".."].contains(&name)
}

/// Whether the text can stand in quotes in commands as a control group.
fn is_cgroup_path(path: &str) -> bool {
    (1..=255).contains(&path.len())
        && path.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@:/".contains(c))
        && path.split('/').all(|part| !["", ".", ".."].contains(&part))
}
