//! The network of a scenario: built from its tables, made by a rule, or read from a separate file.

use std::collections::HashMap;

use anabranch_core::{LinkId, Network, NetworkBuilder, NetworkError, Position, Rate};
use toml::Spanned;

use super::Scenario;
use super::generate::generate;
use crate::error::ScenarioError;
use crate::file::link::{LinkTable, NodeTable};
use crate::file::network::NetworkTable;
use crate::file::words::Capacity;

/// The origin of a scenario's network.
#[derive(Clone, Debug)]
pub enum NetworkSource {
    /// The network of the scenario file itself, by tables or by a rule.
    Inline(Network),
    /// A separate file, which the caller reads.
    File(NetworkFile),
}

/// A separate file with a network.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkFile {
    /// Path of the file, relative to the folder of the scenario file.
    pub file: String,
    /// Capacity of links without one.
    pub capacity: Option<Rate>,
    /// Delay of links without one: a time, or "coordinates" for the time that light takes in fibre.
    pub delay: Option<String>,
}

impl Scenario {
    /// Builds the network, or names the file to read it from.
    ///
    /// # Errors
    /// A mistake in a node, a link or a rule, or the lack of all of them.
    pub fn network(&self) -> Result<NetworkSource, ScenarioError> {
        let inline = self.file.link.first().map(Spanned::span).or(self.file.node.first().map(Spanned::span));
        match (&self.file.network, inline) {
            (Some(_), Some(span)) => {
                let message = "the network is a file or made by a rule ([network]), so no node or link may stand here";
                Err(self.error(span, message))
            }
            (Some(network), None) => self.network_apart(network),
            (None, Some(_)) => self.inline_network().map(NetworkSource::Inline),
            (None, None) => {
                let message = "there is no network; add [[link]] tables, or a [network] with a file or a rule";
                Err(self.error(0..0, message))
            }
        }
    }

    /// Makes the error for a mistake in the file that `[network]` names; its place is that of the file's name.
    pub fn network_file_error(&self, message: &str) -> ScenarioError {
        let file = self.file.network.as_ref().and_then(|network| network.get_ref().file.as_ref());
        self.error(file.map_or(0..0, Spanned::span), message)
    }

    fn network_apart(&self, table: &Spanned<NetworkTable>) -> Result<NetworkSource, ScenarioError> {
        let span = table.span();
        let NetworkTable { file, capacity, delay, generate: rule, seed } = table.get_ref();
        match (file, rule) {
            (Some(file), None) if seed.is_none() => {
                let (file, capacity, delay) = (file.get_ref().clone(), capacity.map(Capacity::rate), delay.clone());
                Ok(NetworkSource::File(NetworkFile { file, capacity, delay }))
            }
            (None, Some(rule)) if capacity.is_none() && delay.is_none() => {
                let made = generate(rule.get_ref(), seed.unwrap_or(self.run().seed));
                made.map(NetworkSource::Inline).map_err(|message| self.error(rule.span(), message))
            }
            (Some(_), Some(_)) => Err(self.error(span, "the network has both a file and a rule; leave one out")),
            (None, None) => {
                Err(self.error(span, "the network has neither a file nor a rule; add `file` or `generate`"))
            }
            (Some(_), None) => Err(self.error(span, "a network in a file draws nothing; leave `seed` out")),
            (None, Some(_)) => {
                Err(self.error(span, "`capacity` and `delay` belong to a file; put them into the braces of the rule"))
            }
        }
    }

    fn inline_network(&self) -> Result<Network, ScenarioError> {
        let mut builder = NetworkBuilder::new();
        for node in &self.file.node {
            let NodeTable { name, longitude, latitude } = node.get_ref();
            let position = match (longitude, latitude) {
                (None, None) => None,
                (Some(longitude), Some(latitude)) => Some(Position { longitude: *longitude, latitude: *latitude }),
                _ => {
                    let message = format!("node `{name}`: a position needs both longitude and latitude");
                    return Err(self.error(node.span(), message));
                }
            };
            builder.node(name, position).map_err(|e| self.error(node.span(), e.to_string()))?;
        }
        let mut ids = HashMap::with_capacity(self.file.link.len());
        for link in &self.file.link {
            let id = add_link(&mut builder, link.get_ref()).map_err(|e| self.error(link.span(), e.to_string()))?;
            ids.extend(link.get_ref().name.as_deref().map(|name| (name, id)));
        }
        self.join_twins(&mut builder, &ids)?;
        Ok(builder.build())
    }

    /// Joins one-way links, one of which names the other as its way back.
    fn join_twins(&self, builder: &mut NetworkBuilder, ids: &HashMap<&str, LinkId>) -> Result<(), ScenarioError> {
        let firsts = first_ids(&self.file.link);
        for (link, there) in self.file.link.iter().zip(firsts) {
            let Some(twin) = &link.get_ref().twin else { continue };
            if link.get_ref().two_way {
                return Err(self.error(twin.span(), "a two-way link has its way back; add two_way = false"));
            }
            let back = ids.get(twin.get_ref().as_str()).copied().ok_or_else(|| {
                let message = format!("there is no link of the name `{}`; name a link that has one", twin.get_ref());
                self.error(twin.span(), message)
            })?;
            builder.twins(there, back).map_err(|e| self.error(twin.span(), e.to_string()))?;
        }
        Ok(())
    }
}

/// Id of the first link that each table makes.
pub(super) fn first_ids(tables: &[Spanned<LinkTable>]) -> impl Iterator<Item = LinkId> {
    tables.iter().scan(0, |next, table| {
        let first = LinkId::new(*next);
        *next += if table.get_ref().two_way { 2 } else { 1 };
        Some(first)
    })
}

fn add_link(builder: &mut NetworkBuilder, link: &LinkTable) -> Result<LinkId, NetworkError> {
    let mut end = |name: &str| match builder.find_node(name) {
        Some(id) => Ok(id),
        None => builder.node(name, None),
    };
    let (source, target) = (end(&link.source)?, end(&link.target)?);
    let (name, capacity, delay) = (link.name.as_deref(), link.capacity.rate(), link.delay.0);
    if link.two_way {
        builder.two_way(name, source, target, capacity, delay).map(|(there, _)| there)
    } else {
        builder.link(name, source, target, capacity, delay)
    }
}
