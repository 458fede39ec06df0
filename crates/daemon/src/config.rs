//! The configuration of an agent: one TOML file.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anabranch_core::quantity::RateText;
use anabranch_core::{Rate, spelling};
use anabranch_proto::Protocol;
use serde::Deserialize;

use crate::network::Map;

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
#[derive(Debug)]
pub struct Config {
    /// The node of the agent.
    pub node: String,
    /// The network.
    pub map: Map,
    /// Address at which neighbours call.
    pub listen: SocketAddr,
    /// Address at which applications ask.
    pub applications: SocketAddr,
    /// Folder for what the agent keeps.
    pub state: PathBuf,
    /// Files with the certificates of the authority, and with the certificate of the agent and its key.
    pub authority: PathBuf,
    /// File with the certificate of the agent and its key.
    pub certificate: PathBuf,
    /// The protocol of the network.
    pub protocol: Protocol,
    /// Part of each link that is granted.
    pub share: f64,
    /// Addresses of the neighbours.
    pub neighbours: BTreeMap<String, SocketAddr>,
    /// The links that leave the node.
    pub links: BTreeMap<String, Link>,
    /// The applications that may ask.
    pub rights: Vec<Application>,
    /// The sessions that always exist.
    pub sessions: Vec<Session>,
}

/// A link that leaves the node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// The capacity, where it is not that of the network file.
    pub capacity: Option<RateText>,
    /// The greatest claims of all sessions that one neighbour sends here.
    pub claims: Option<f64>,
}

/// What an application may ask.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// The name in the certificate of the application.
    pub name: String,
    /// The nodes to which it may ask for rates; `*` for all.
    #[serde(default = "everywhere")]
    pub to: Vec<String>,
    /// Greatest demand of a session.
    #[serde(default)]
    pub most: Option<RateText>,
    /// Greatest weight of a session.
    #[serde(default = "one")]
    pub weight: f64,
    /// Greatest number of sessions at a time.
    #[serde(default = "some")]
    pub sessions: usize,
}

/// A session that always exists, such as a tunnel.
#[derive(Clone, Debug, Deserialize)]
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
}

fn everywhere() -> Vec<String> {
    vec!["*".to_owned()]
}

fn one() -> f64 {
    1.0
}

fn two() -> u8 {
    2
}

fn some() -> usize {
    100
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    node: String,
    network: PathBuf,
    listen: SocketAddr,
    applications: SocketAddr,
    state: PathBuf,
    authority: PathBuf,
    certificate: PathBuf,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    share: Option<f64>,
    #[serde(default)]
    neighbours: BTreeMap<String, SocketAddr>,
    #[serde(default)]
    links: BTreeMap<String, Link>,
    #[serde(default)]
    application: Vec<Application>,
    #[serde(default)]
    session: Vec<Session>,
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
        file.checked(folder, map).map_err(wrong)
    }
}

impl File {
    fn checked(self, folder: &Path, map: Map) -> Result<Config, String> {
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
            if link.claims.is_some_and(|claims| !(claims >= 0.0 && claims.is_finite())) {
                return Err(format!("links.{given}: claims must be a number from 0 on"));
            }
        }
        for application in &self.application {
            let place = format!("application `{}`", application.name);
            for to in application.to.iter().filter(|to| *to != "*") {
                map.node(to).map_err(|error| format!("{place}: {error}"))?;
            }
            positive(application.weight).map_err(|error| format!("{place}: weight {error}"))?;
        }
        for session in &self.session {
            let place = format!("session `{}`", session.name);
            let target = map.node(&session.to).map_err(|error| format!("{place}: {error}"))?;
            if target == node {
                return Err(format!("{place}: it ends where it begins, at `{}`", session.to));
            }
            positive(session.weight).map_err(|error| format!("{place}: weight {error}"))?;
            let most = if protocol.check(session.weight, 2).is_ok() { 16 } else { 1 };
            if !(1..=most).contains(&session.paths) {
                return Err(format!("{place}: it has {} paths; under {name} it may have 1 to {most}", session.paths));
            }
        }
        Ok(Config {
            node: self.node,
            map,
            listen: self.listen,
            applications: self.applications,
            state: folder.join(self.state),
            authority: folder.join(self.authority),
            certificate: folder.join(self.certificate),
            protocol,
            share,
            neighbours: self.neighbours,
            links: self.links,
            rights: self.application,
            sessions: self.session,
        })
    }
}

fn positive(number: f64) -> Result<(), String> {
    if number > 0.0 && number.is_finite() { Ok(()) } else { Err(format!("is {number}; it must be positive")) }
}

pub(crate) fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    spelling::nearest(name, known).map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)"))
}

/// A demand, infinite if there is none.
pub(crate) fn demand(text: Option<RateText>) -> Rate {
    text.map_or(Rate(f64::INFINITY), |text| text.0)
}
