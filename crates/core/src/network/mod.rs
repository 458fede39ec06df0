//! The network: nodes and directed links, checked during construction and immutable afterwards.
//!
//! Parallel links are allowed and stay distinct: a path is a list of link ids, never of nodes. A two-way link is two
//! links, each the other's `twin`.

mod builder;
mod index;

use thiserror::Error;

use crate::id::{LinkId, NodeId};
use crate::units::{Rate, Short, Span};

pub use crate::spelling::nearest;
pub use builder::NetworkBuilder;

use index::NameIndex;

/// A position on the globe, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Longitude, -180 to 180, east positive.
    pub longitude: f64,
    /// Latitude, -90 to 90, north positive.
    pub latitude: f64,
}

impl Position {
    /// The great-circle distance to `other` in metres, on a sphere of 6,371 km.
    pub fn distance(self, other: Self) -> f64 {
        const EARTH_RADIUS: f64 = 6_371_000.0;
        let (lat1, lat2) = (self.latitude.to_radians(), other.latitude.to_radians());
        let (dlat, dlon) = (lat2 - lat1, (other.longitude - self.longitude).to_radians());
        let h = (dlat / 2.0).sin().powi(2) + lat1.cos() * lat2.cos() * (dlon / 2.0).sin().powi(2);
        2.0 * EARTH_RADIUS * h.sqrt().min(1.0).asin()
    }
}

/// A vertex of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name, unique in its network.
    pub name: String,
    /// Position, if the source of the network gave one.
    pub position: Option<Position>,
}

/// One directed link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name, unique in its network.
    pub name: String,
    /// The node where the link begins.
    pub source: NodeId,
    /// The node where the link ends; never its source.
    pub target: NodeId,
    /// Capacity; zero for a link that is down, infinite for a link that never binds.
    pub capacity: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// The link in the opposite direction, if the two were made as one two-way link.
    pub twin: Option<LinkId>,
}

/// The reason why nodes and links do not make a valid network.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum NetworkError {
    #[error("node `{0}`: the name is already taken; names must be unique")]
    DuplicateNode(String),
    #[error("node {0}: the name is empty; give it one")]
    EmptyNode(usize),
    #[error("link `{0}`: the name is already taken; names must be unique (leave it out to have one made)")]
    DuplicateLink(String),
    #[error("link `{link}`: there is no node `{node}`{hint}; declare it or correct the name")]
    UnknownNode { link: String, node: String, hint: String },
    #[error("link `{0}`: both ends are node `{1}`; a link must join two different nodes")]
    SelfLoop(String, String),
    #[error("link `{0}`: capacity is {bps} bit/s; it must be 0 to 1e100, or infinite", bps = Short(*.1))]
    Capacity(String, f64),
    #[error(
        "node `{0}`: position ({longitude}, {latitude}) is off the globe; longitude is -180 to 180 and latitude -90 to 90 degrees",
        longitude = Short(*.1),
        latitude = Short(*.2)
    )]
    OffGlobe(String, f64, f64),
    #[error(
        "link `{0}`: its twin `{1}` does not lead back from its end to its beginning; twins must be opposite links"
    )]
    BadTwin(String, String),
}

/// An immutable network of nodes and directed links.
#[derive(Clone, Debug)]
pub struct Network {
    nodes: Vec<Node>,
    links: Vec<Link>,
    node_names: NameIndex,
    link_names: NameIndex,
    /// The offsets of the nodes' links: node n has `out_links[out_offsets[n]..out_offsets[n + 1]]`, by id; `into_*`
    /// likewise.
    out_offsets: Vec<u32>,
    out_links: Vec<LinkId>,
    into_offsets: Vec<u32>,
    into_links: Vec<LinkId>,
}

impl Network {
    /// All nodes, by id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All links, by id.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The link with this id.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// Returns the node of this name.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.find(name, |n| &self.nodes[n as usize].name).map(NodeId)
    }

    /// Returns the link of this name.
    pub fn find_link(&self, name: &str) -> Option<LinkId> {
        self.link_names.find(name, |n| &self.links[n as usize].name).map(LinkId)
    }

    /// The links that leave `node`, in the order of their ids.
    pub fn links_from(&self, node: NodeId) -> &[LinkId] {
        let n = node.index();
        &self.out_links[self.out_offsets[n] as usize..self.out_offsets[n + 1] as usize]
    }

    /// The links that end at `node`, in the order of their ids.
    pub fn links_into(&self, node: NodeId) -> &[LinkId] {
        let n = node.index();
        &self.into_links[self.into_offsets[n] as usize..self.into_offsets[n + 1] as usize]
    }

    /// For each node the number of its weakly connected component; components are numbered from 0 in the order of their
    /// first nodes.
    pub fn parts(&self) -> Vec<u32> {
        let mut part = vec![u32::MAX; self.nodes.len()];
        let mut stack = Vec::new();
        let mut parts = 0;
        for start in 0..self.nodes.len() {
            if part[start] != u32::MAX {
                continue;
            }
            part[start] = parts;
            stack.push(NodeId::new(start));
            while let Some(node) = stack.pop() {
                let ahead = self.links_from(node).iter().map(|&l| self.link(l).target);
                let behind = self.links_into(node).iter().map(|&l| self.link(l).source);
                for next in ahead.chain(behind) {
                    if part[next.index()] == u32::MAX {
                        part[next.index()] = parts;
                        stack.push(next);
                    }
                }
            }
            parts += 1;
        }
        part
    }

    /// A hint at a node with a name close to `name`: `` (did you mean `oslo`?)``, or nothing.
    pub fn node_hint(&self, name: &str) -> String {
        nearest(name, self.nodes.iter().map(|n| n.name.as_str()))
            .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
    }

    /// This network with other capacities, one for each link.
    ///
    /// # Errors
    /// Returns an error for a capacity that is negative, NaN, or finite and over 1e100 bit/s.
    ///
    /// # Panics
    /// If `capacities` is not as long as the list of links.
    pub fn with_capacities(mut self, capacities: &[Rate]) -> Result<Self, NetworkError> {
        assert_eq!(capacities.len(), self.links.len(), "one capacity for each link");
        for (link, &capacity) in self.links.iter_mut().zip(capacities) {
            check_capacity(&link.name, capacity)?;
            link.capacity = capacity;
        }
        Ok(self)
    }
}

fn check_capacity(link: &str, capacity: Rate) -> Result<(), NetworkError> {
    if capacity.is_capacity() { Ok(()) } else { Err(NetworkError::Capacity(link.to_owned(), capacity.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_follows_the_globe() {
        // A degree of latitude is 6,371 km * pi / 180 = 111.195 km.
        let at = |latitude| Position { longitude: 10.0, latitude };
        assert!((at(50.0).distance(at(51.0)) - 111_194.93).abs() < 0.1);
    }

    #[test]
    fn parts_are_counted_without_regard_to_direction() {
        let mut builder = NetworkBuilder::new();
        let [a, b, _] = ["a", "b", "c"].map(|name| builder.node(name, None).unwrap());
        builder.link(None, b, a, Rate(1.0), Span(0)).unwrap();
        assert_eq!(builder.build().parts(), [0, 0, 1]);
    }
}
