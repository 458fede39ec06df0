//! The configuration of an agent: one TOML file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anabranch_agents::message::{MOST_NAME, number_of};
use anabranch_core::quantity::{RateText, SpanText};
use anabranch_core::{NodeId, Rate, Span, spelling};
use anabranch_proto::Protocol;
use serde::Deserialize;

use crate::enforced::{Enforcement, Kind, Match, Segment, Table, Written};
use crate::http::Http;
use crate::interfaces::{self, Watched};
use crate::network::Map;
use crate::rights::Application;

/// Least time between two control packets of a path, if none is given.
const GAP: Span = Span::ms(2);

/// The reason why a configuration cannot be used: what is wrong, where, and what would do.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// The configuration of an agent, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file.
    pub path: PathBuf,
    /// The node of the agent.
    pub node: String,
    /// The network.
    pub map: Map,
    /// Address at which neighbours call.
    pub listen: SocketAddr,
    /// Address at which applications ask.
    pub applications: SocketAddr,
    /// Where the agent answers by HTTP, if it does.
    pub http: Option<Http>,
    /// Folder for what the agent keeps.
    pub state: PathBuf,
    /// File with the certificates of the authority.
    pub authority: PathBuf,
    /// File with the certificate of the agent and its key.
    pub certificate: PathBuf,
    /// The protocol of the network.
    pub protocol: Protocol,
    /// Part of each link that is granted.
    pub share: f64,
    /// Least time between two control packets of a path.
    pub gap: Span,
    /// Addresses of the neighbours.
    pub neighbours: BTreeMap<String, SocketAddr>,
    /// The links that leave the node.
    pub links: BTreeMap<String, Link>,
    /// The applications that may ask.
    pub rights: Vec<Application>,
    /// The sessions that always exist.
    pub sessions: Vec<Session>,
    /// How traffic is kept to rates, if it is.
    pub enforcement: Option<Enforcement>,
    /// Whether commands that keep traffic to rates are printed, whatever the file says.
    pub is_dry: bool,
}

/// A link that leaves the node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// The capacity, where it is not that of the network file.
    pub capacity: Option<RateText>,
    /// The interface of this machine that is the link: the link is down while the interface is, and has its speed if there
    /// is no capacity.
    pub interface: Option<String>,
    /// The greatest claims of all sessions that one neighbour sends here.
    pub claims: Option<f64>,
    /// The address of the next router, to which packets of sessions go.
    pub via: Option<IpAddr>,
    /// The source address that these packets get, if the link takes no other.
    pub source: Option<IpAddr>,
}

/// A session that always exists, such as a tunnel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// The name of the session.
    pub name: String,
    /// The node at the other end.
    pub to: String,
    /// Greatest number of paths.
    #[serde(default = "two")]
    pub paths: u8,
    /// Demand; without one every rate that the session can get.
    #[serde(default)]
    pub demand: Option<RateText>,
    /// Weight relative to other sessions.
    #[serde(default = "one")]
    pub weight: f64,
    /// The packets of the session, which are kept to its rates.
    #[serde(default, rename = "match")]
    pub traffic: Vec<Match>,
    /// Reserved part of the rate, which comes before the share of the rest.
    #[serde(default)]
    pub reserved: Option<RateText>,
}

fn one() -> f64 {
    1.0
}

fn two() -> u8 {
    2
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    node: String,
    network: PathBuf,
    listen: SocketAddr,
    applications: SocketAddr,
    #[serde(default)]
    http: Option<Http>,
    state: PathBuf,
    authority: PathBuf,
    certificate: PathBuf,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    share: Option<f64>,
    #[serde(default)]
    gap: Option<SpanText>,
    #[serde(default)]
    neighbours: BTreeMap<String, SocketAddr>,
    #[serde(default)]
    links: BTreeMap<String, Link>,
    #[serde(default)]
    application: Vec<Application>,
    #[serde(default)]
    session: Vec<Session>,
    #[serde(default)]
    enforce: Option<Table>,
    #[serde(default)]
    segments: BTreeMap<String, Segment>,
}

impl Config {
    /// Reads and checks a file; paths in it are relative to its folder.
    ///
    /// # Errors
    /// Returns an error that says what is wrong, where, and what would do.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let wrong = |reason: String| ConfigError { path: path.to_owned(), reason };
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let file: File = toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let map = Map::read(&folder.join(&file.network))?;
        file.checked(path, folder, map).map_err(wrong)
    }

    /// What another configuration has that a running agent cannot take; `None` if it can take all.
    pub(crate) fn fixed_difference(&self, other: &Self) -> Option<&'static str> {
        let claims = |config: &Self| -> Vec<_> {
            let fixed = |(name, link): (&String, &Link)| (name.clone(), link.claims, link.interface.clone());
            config
                .links
                .iter()
                .map(fixed)
                .filter(|(_, claims, interface)| (claims, interface) != (&None, &None))
                .collect()
        };
        let differences = [
            ("node", self.node != other.node),
            ("nodes and links of the network", !self.map.has_links_of(&other.map)),
            ("listen", self.listen != other.listen),
            ("applications", self.applications != other.applications),
            ("http", self.http != other.http),
            ("state", self.state != other.state),
            ("protocol", self.protocol != other.protocol),
            ("gap", self.gap != other.gap),
            ("share", self.share.to_bits() != other.share.to_bits()),
            ("neighbours", self.neighbours != other.neighbours),
            ("claims or interface of a link", claims(self) != claims(other)),
            ("the table enforce", !self.enforces_as(other)),
        ];
        differences.into_iter().find_map(|(what, differs)| differs.then_some(what))
    }

    /// Whether what enforces rates is the same.
    fn enforces_as(&self, other: &Self) -> bool {
        match (&self.enforcement, &other.enforcement) {
            (None, None) => true,
            (Some(own), Some(other)) => own.is_fixed_as(other),
            _ => false,
        }
    }

    /// Checks a session that is opened while the agent runs, by a program of the same machine or by an application.
    ///
    /// # Errors
    /// Returns the reason why it cannot be.
    pub(crate) fn check_opened(&self, session: &Session, is_near: bool) -> Result<(), String> {
        let node = self.map.node(&self.node).expect("the configuration was checked");
        if session.name.is_empty() || session.name.len() > MOST_NAME {
            return Err(format!("its name must have 1 to {MOST_NAME} bytes"));
        }
        if session.name.contains(char::is_control) {
            return Err("its name may have no control characters".to_owned());
        }
        if !is_near && !session.traffic.is_empty() {
            return Err("a match is for programs on the machine of the agent; leave it out".to_owned());
        }
        if is_near && self.sessions.iter().any(|other| other.name == session.name) {
            return Err("the file of the agent has a session of this name; take another".to_owned());
        }
        session.check(&self.map, node, &self.protocol)?;
        match &self.enforcement {
            _ if session.traffic.is_empty() => Ok(()),
            Some(enforcement) => enforcement.check_session(session, &self.map, node),
            None => Err("the agent keeps no traffic to rates, so that a match is of no use; its file needs a table \
                         [enforce]"
                .to_owned()),
        }
    }

    /// Takes a dry run: commands are printed instead of carried out, and all else stays.
    #[must_use]
    pub fn dry(mut self) -> Self {
        self.is_dry = true;
        if let Some(enforcement) = &mut self.enforcement {
            enforcement.backend = Kind::Print;
        }
        self
    }

    /// The neighbours that the agent calls: of two neighbours that with the later name calls.
    pub(crate) fn called(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        let before = |(name, _): &(&String, &SocketAddr)| self.node > **name;
        self.neighbours.iter().filter(before).map(|(name, &address)| (name.as_str(), address))
    }

    /// The neighbours that call the agent.
    pub(crate) fn callers(&self) -> impl Iterator<Item = &str> {
        self.neighbours.keys().filter(|name| self.node <= **name).map(String::as_str)
    }

    /// The links that leave the node and are not interfaces, with their capacities.
    pub(crate) fn capacities(&self) -> Vec<(u32, Rate)> {
        let node = self.map.node(&self.node).expect("the configuration was checked");
        let given = |name: &str| self.links.get(name).cloned().unwrap_or_default();
        let plain = self.map.own_links(node).filter(|(name, _, _)| given(name).interface.is_none());
        plain
            .map(|(name, _, capacity)| (number_of(name), given(name).capacity.map_or(capacity, |text| text.0)))
            .collect()
    }

    /// What may be a mistake, and keeps no agent from starting.
    pub fn warnings(&self) -> Vec<String> {
        let missing = |(name, link): (&String, &Link)| {
            let interface = link.interface.as_ref().filter(|interface| !interfaces::is_there(interface))?;
            Some(format!("links.{name}: there is no interface `{interface}` now; the link is down until there is"))
        };
        self.links.iter().filter_map(missing).collect()
    }

    /// The links that are interfaces.
    pub(crate) fn interfaces(&self) -> Vec<Watched> {
        let watched = |(name, link): (&String, &Link)| {
            let capacity = link.capacity.map(|text| text.0);
            Some(Watched { link: number_of(name), interface: link.interface.clone()?, capacity })
        };
        self.links.iter().filter_map(watched).collect()
    }
}

impl Session {
    /// Checks the numbers of a session at a node.
    fn check(&self, map: &Map, node: NodeId, protocol: &Protocol) -> Result<(), String> {
        if map.node(&self.to)? == node {
            return Err(format!("it ends where it begins, at `{}`", self.to));
        }
        positive(self.weight).map_err(|error| format!("weight {error}"))?;
        let reserved = self.reserved.map_or(Rate(0.0), |rate| rate.0);
        protocol.check(self.weight, reserved, 1)?;
        let most = if protocol.check(self.weight, reserved, 2).is_ok() { 16 } else { 1 };
        if !(1..=most).contains(&self.paths) {
            let title = protocol.title();
            return Err(format!("it has {} paths; under {title} it may have 1 to {most}", self.paths));
        }
        Ok(())
    }

    /// Whether this is the same session, if perhaps with another demand or other packets.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let part = |own: &Self| Self { demand: None, traffic: Vec::new(), ..own.clone() };
        part(self) == part(other)
    }
}

impl File {
    fn checked(self, path: &Path, folder: &Path, map: Map) -> Result<Config, String> {
        let node = map.node(&self.node).map_err(|error| format!("node: {error}"))?;
        let name = self.protocol.unwrap_or_else(|| "d-slen".to_owned());
        let protocol = Protocol::named(&name).filter(anabranch_agents::serves);
        let protocol = protocol.ok_or_else(|| {
            format!("protocol: agents do not carry the packets of `{name}`; it must be \"d-slen\" or \"slbn\"")
        })?;
        let share = self.share.unwrap_or(anabranch_live::agents::SHARE);
        if !(share > 0.0 && share <= 1.0) {
            return Err(format!("share: it is {share}; it must be more than 0 and at most 1"));
        }
        self.http.as_ref().map_or(Ok(()), Http::check)?;
        let gap = self.gap.map_or(GAP, |text| text.0);
        if !(Span::ms(1)..=Span::ms(200)).contains(&gap) {
            return Err(format!("gap: it is {} s; it must be from 1 ms to 200 ms", gap.seconds()));
        }
        let around = map.around(node);
        if let Some(given) = self.neighbours.keys().find(|name| !around.contains(*name)) {
            let hint = hint(given, around.iter().map(String::as_str));
            return Err(format!("neighbours: no link joins `{}` and `{given}`{hint}", self.node));
        }
        if let Some(missing) = around.iter().find(|name| !self.neighbours.contains_key(*name)) {
            return Err(format!(
                "neighbours: there is no address of `{missing}`; write one, such as \"{missing}\" = \"192.0.2.7:4434\""
            ));
        }
        let own = map.links_from(node);
        for (given, link) in &self.links {
            if !own.contains(given) {
                let hint = hint(given, own.iter().map(String::as_str));
                return Err(format!("links: no link `{given}` leaves `{}`{hint}", self.node));
            }
            if let Some(interface) = &link.interface {
                let place = |reason| format!("links.{given}: {reason}");
                interfaces::capacity(interface, link.capacity.map(|text| text.0)).map_err(place)?;
            }
            if link.claims.is_some_and(|claims| !(claims >= 0.0 && claims.is_finite())) {
                return Err(format!("links.{given}: claims must be a number from 0 on"));
            }
        }
        for application in &self.application {
            application.check(&map)?;
        }
        for session in &self.session {
            session.check(&map, node, &protocol).map_err(|reason| format!("session `{}`: {reason}", session.name))?;
        }
        if let Some(first) = doubles(self.session.iter().map(|session| &session.name)) {
            return Err(format!("session `{first}`: two sessions have this name"));
        }
        if let Some(first) = doubles(self.application.iter().map(|application| &application.name)) {
            return Err(format!("application `{first}`: two entries have this name"));
        }
        let written = Written {
            table: self.enforce.as_ref(),
            segments: &self.segments,
            links: &self.links,
            sessions: &self.session,
        };
        let enforcement = Enforcement::of(&written, &map, node)?;
        Ok(Config {
            path: path.to_owned(),
            node: self.node,
            map,
            listen: self.listen,
            applications: self.applications,
            http: self.http,
            state: folder.join(self.state),
            authority: folder.join(self.authority),
            certificate: folder.join(self.certificate),
            protocol,
            share,
            gap,
            neighbours: self.neighbours,
            links: self.links,
            rights: self.application,
            sessions: self.session,
            enforcement,
            is_dry: false,
        })
    }
}

/// The first name that comes twice.
fn doubles<'a>(mut names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}

pub(crate) fn positive(number: f64) -> Result<(), String> {
    if number > 0.0 && number.is_finite() { Ok(()) } else { Err(format!("is {number}; it must be positive")) }
}

pub(crate) fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    spelling::nearest(name, known).map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)"))
}

/// A demand, infinite if there is none.
pub(crate) fn demand(text: Option<RateText>) -> Rate {
    text.map_or(Rate(f64::INFINITY), |text| text.0)
}
