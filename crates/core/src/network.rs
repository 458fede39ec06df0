//! The network: nodes and directed links, checked when built and frozen after.
//!
//! Parallel links are allowed and stay apart: a path is a list of link ids, never of nodes. A two-way link is two
//! links, each the other's `twin`.

use std::collections::HashMap;

use thiserror::Error;

use crate::id::{LinkId, NodeId};
use crate::units::{Rate, Span};

/// Where a node lies on the globe, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// -180 to 180, east positive.
    pub longitude: f64,
    /// -90 to 90, north positive.
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

/// A vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Unique in its network.
    pub name: String,
    /// If the source of the network gave one.
    pub position: Option<Position>,
}

/// One directed link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Unique in its network.
    pub name: String,
    /// Where it begins.
    pub source: NodeId,
    /// Where it ends; never its source.
    pub target: NodeId,
    /// What it can carry; zero for a link that is down, infinite for one that never binds.
    pub capacity: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// The way back, if the two were made as one two-way link.
    pub twin: Option<LinkId>,
}

/// Nodes and links that cannot be a network.
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
    #[error("link `{0}`: capacity is {1} bit/s; it must be 0 or more")]
    Capacity(String, f64),
    #[error(
        "node `{0}`: position ({1}, {2}) is off the globe; longitude is -180 to 180 and latitude -90 to 90 degrees"
    )]
    OffGlobe(String, f64, f64),
    #[error(
        "link `{0}`: its twin `{1}` does not lead back from its end to its beginning; twins must be opposite links"
    )]
    BadTwin(String, String),
}

/// Nodes and directed links; immutable.
#[derive(Clone, Debug)]
pub struct Network {
    nodes: Vec<Node>,
    links: Vec<Link>,
    node_names: HashMap<String, NodeId>,
    link_names: HashMap<String, LinkId>,
    /// Links that leave node n, by id: `out_links[out_offsets[n]..out_offsets[n + 1]]`; `into_*` likewise.
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

    /// The node of this name.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.get(name).copied()
    }

    /// The link of this name.
    pub fn find_link(&self, name: &str) -> Option<LinkId> {
        self.link_names.get(name).copied()
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

    /// For each node the number of its weakly connected part, counted from 0 in the order of their first nodes.
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

    /// A name close to `name` among the nodes, as a hint: `` (did you mean `oslo`?)``, or nothing.
    pub fn node_hint(&self, name: &str) -> String {
        nearest(name, self.nodes.iter().map(|n| n.name.as_str()))
            .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
    }

    /// The same network with other capacities, one for each link.
    ///
    /// # Errors
    /// A capacity that is negative or NaN.
    ///
    /// # Panics
    /// If `capacities` has another length than the links.
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
    let good = capacity.0 >= 0.0;
    if good { Ok(()) } else { Err(NetworkError::Capacity(link.to_owned(), capacity.0)) }
}

/// The candidate that differs least from `name` without regard to case, if it differs in a third of it or less.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let limit = (length / 3).max(1).min(length - length.min(1));
    let measured = candidates.map(|c| (edit_distance(&wanted, &c.to_lowercase()), c));
    measured.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, c)| c)
}

/// Insertions, deletions and replacements that turn `a` into `b` (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Collects nodes and links, and checks each as it comes.
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    nodes: Vec<Node>,
    links: Vec<Link>,
    node_names: HashMap<String, NodeId>,
    link_names: HashMap<String, LinkId>,
}

impl NetworkBuilder {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// The name is empty or taken, or the position is off the globe.
    pub fn node(&mut self, name: &str, position: Option<Position>) -> Result<NodeId, NetworkError> {
        if name.is_empty() {
            return Err(NetworkError::EmptyNode(self.nodes.len()));
        }
        if let Some(Position { longitude, latitude }) = position {
            let on_globe = (-180.0..=180.0).contains(&longitude) && (-90.0..=90.0).contains(&latitude);
            if !on_globe {
                return Err(NetworkError::OffGlobe(name.to_owned(), longitude, latitude));
            }
        }
        let id = NodeId::new(self.nodes.len());
        if self.node_names.insert(name.to_owned(), id).is_some() {
            return Err(NetworkError::DuplicateNode(name.to_owned()));
        }
        self.nodes.push(Node { name: name.to_owned(), position });
        Ok(id)
    }

    /// The node of this name among those added so far.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.get(name).copied()
    }

    /// Adds a one-way link. Without a name it becomes `a-b`; a second one between the same ends `a-b#2`.
    ///
    /// # Errors
    /// The name is taken, the ends are the same node, or the capacity is negative or NaN.
    pub fn link(
        &mut self,
        name: Option<&str>,
        source: NodeId,
        target: NodeId,
        capacity: Rate,
        delay: Span,
    ) -> Result<LinkId, NetworkError> {
        let name = name.map_or_else(|| self.free_link_name(source, target), str::to_owned);
        if source == target {
            return Err(NetworkError::SelfLoop(name, self.nodes[source.index()].name.clone()));
        }
        check_capacity(&name, capacity)?;
        let id = LinkId::new(self.links.len());
        if self.link_names.insert(name.clone(), id).is_some() {
            return Err(NetworkError::DuplicateLink(name));
        }
        self.links.push(Link { name, source, target, capacity, delay, twin: None });
        Ok(id)
    }

    /// Adds a two-way link: two links that are each other's twin. The name is the first one's; the way back is
    /// named `name~` (or after its own ends if there is no name).
    ///
    /// # Errors
    /// As for [`Self::link`].
    pub fn two_way(
        &mut self,
        name: Option<&str>,
        source: NodeId,
        target: NodeId,
        capacity: Rate,
        delay: Span,
    ) -> Result<(LinkId, LinkId), NetworkError> {
        let there = self.link(name, source, target, capacity, delay)?;
        let back_name = name.map(|n| format!("{n}~"));
        let back = self.link(back_name.as_deref(), target, source, capacity, delay)?;
        self.links[there.index()].twin = Some(back);
        self.links[back.index()].twin = Some(there);
        Ok((there, back))
    }

    /// Declares two links that were added apart to be each other's twin.
    ///
    /// # Errors
    /// They are not opposite, or one has another twin already.
    pub fn twins(&mut self, there: LinkId, back: LinkId) -> Result<(), NetworkError> {
        let (a, b) = (&self.links[there.index()], &self.links[back.index()]);
        let opposite = a.source == b.target && a.target == b.source;
        let free = a.twin.is_none_or(|t| t == back) && b.twin.is_none_or(|t| t == there);
        if !(opposite && free) {
            return Err(NetworkError::BadTwin(a.name.clone(), b.name.clone()));
        }
        self.links[there.index()].twin = Some(back);
        self.links[back.index()].twin = Some(there);
        Ok(())
    }

    fn free_link_name(&self, source: NodeId, target: NodeId) -> String {
        let base = format!("{}-{}", self.nodes[source.index()].name, self.nodes[target.index()].name);
        if !self.link_names.contains_key(&base) {
            return base;
        }
        let numbered = (2..).map(|n| format!("{base}#{n}"));
        numbered.into_iter().find(|name| !self.link_names.contains_key(name)).expect("some number is free")
    }

    /// Freezes what was added.
    pub fn build(self) -> Network {
        let (out_offsets, out_links) = group_by_node(self.nodes.len(), self.links.iter().map(|l| l.source));
        let (into_offsets, into_links) = group_by_node(self.nodes.len(), self.links.iter().map(|l| l.target));
        Network {
            nodes: self.nodes,
            links: self.links,
            node_names: self.node_names,
            link_names: self.link_names,
            out_offsets,
            out_links,
            into_offsets,
            into_links,
        }
    }
}

/// Link ids grouped by the node that `ends` gives for each: offsets and the grouped ids.
fn group_by_node(nodes: usize, ends: impl Iterator<Item = NodeId> + Clone) -> (Vec<u32>, Vec<LinkId>) {
    let mut offsets = vec![0u32; nodes + 1];
    for node in ends.clone() {
        offsets[node.index() + 1] += 1;
    }
    for n in 0..nodes {
        offsets[n + 1] += offsets[n];
    }
    let mut next = offsets.clone();
    let mut grouped = vec![LinkId(0); offsets[nodes] as usize];
    for (link, node) in ends.enumerate() {
        let slot = &mut next[node.index()];
        grouped[*slot as usize] = LinkId::new(link);
        *slot += 1;
    }
    (offsets, grouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (NetworkBuilder, NodeId, NodeId) {
        let mut builder = NetworkBuilder::new();
        let a = builder.node("a", None).unwrap();
        let b = builder.node("b", None).unwrap();
        (builder, a, b)
    }

    #[test]
    fn parallel_links_stay_apart() {
        let (mut builder, a, b) = pair();
        let (first, back) = builder.two_way(None, a, b, Rate(1e9), Span(0)).unwrap();
        let (second, _) = builder.two_way(None, a, b, Rate(2e9), Span(0)).unwrap();
        let network = builder.build();
        assert_eq!(network.links_from(a), [first, second]);
        assert_eq!(network.link(second).name, "a-b#2");
        assert_eq!(network.link(first).twin, Some(back));
        assert_eq!(network.link(back).twin, Some(first));
        assert_eq!(network.find_link("b-a"), Some(back));
    }

    #[test]
    fn bad_links_are_refused_with_their_names() {
        let (mut builder, a, b) = pair();
        let said = |r: Result<LinkId, NetworkError>| r.unwrap_err().to_string();
        assert_eq!(
            said(builder.link(None, a, b, Rate(-1.0), Span(0))),
            "link `a-b`: capacity is -1 bit/s; it must be 0 or more"
        );
        assert!(said(builder.link(None, a, b, Rate(f64::NAN), Span(0))).contains("NaN"));
        assert!(said(builder.link(None, a, a, Rate(1.0), Span(0))).contains("two different nodes"));
        builder.link(Some("x"), a, b, Rate(1.0), Span(0)).unwrap();
        assert!(said(builder.link(Some("x"), b, a, Rate(1.0), Span(0))).contains("already taken"));
        assert!(builder.node("a", None).is_err());
        assert!(builder.node("c", Some(Position { longitude: 200.0, latitude: 0.0 })).is_err());
    }

    #[test]
    fn parts_are_counted_without_regard_to_direction() {
        let (mut builder, a, b) = pair();
        builder.node("c", None).unwrap();
        builder.link(None, b, a, Rate(1.0), Span(0)).unwrap();
        assert_eq!(builder.build().parts(), [0, 0, 1]);
    }

    #[test]
    fn a_slip_in_a_name_gets_a_hint() {
        let names = ["Oslo", "Bergen", "Tromso"];
        assert_eq!(nearest("olso", names.into_iter()), None);
        assert_eq!(nearest("Bergn", names.into_iter()), Some("Bergen"));
        assert_eq!(nearest("oslo", names.into_iter()), Some("Oslo"));
    }

    #[test]
    fn distance_follows_the_globe() {
        // A degree of latitude is 6,371 km * pi / 180 = 111.195 km.
        let at = |latitude| Position { longitude: 10.0, latitude };
        assert!((at(50.0).distance(at(51.0)) - 111_194.93).abs() < 0.1);
    }
}
