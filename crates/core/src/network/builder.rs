//! The construction of a network, node by node and link by link, with a check of each.

use super::index::NameIndex;
use super::{Link, Network, NetworkError, Node, Position, check_capacity};
use crate::id::{LinkId, NodeId};
use crate::names::FreeNames;
use crate::units::{Rate, Span};

/// A collection of nodes and links that checks each when it is added.
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    nodes: Vec<Node>,
    links: Vec<Link>,
    node_names: NameIndex,
    link_names: NameIndex,
    free_names: FreeNames,
}

impl NetworkBuilder {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reserves memory for this many more nodes and links, which saves time where there are millions.
    pub fn reserve(&mut self, nodes: usize, links: usize) {
        self.nodes.reserve(nodes);
        self.links.reserve(links);
        self.node_names.reserve(nodes, |n| &self.nodes[n as usize].name);
        self.link_names.reserve(links, |n| &self.links[n as usize].name);
    }

    /// Adds a node.
    ///
    /// # Errors
    /// Returns an error if the name is empty or taken, or the position is off the globe.
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
        if self.find_node(name).is_some() {
            return Err(NetworkError::DuplicateNode(name.to_owned()));
        }
        self.node_names.insert(name, id.0, |n| &self.nodes[n as usize].name);
        self.nodes.push(Node { name: name.to_owned(), position });
        Ok(id)
    }

    /// Returns the node of this name among those added so far.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.find(name, |n| &self.nodes[n as usize].name).map(NodeId)
    }

    /// Adds a one-way link. Without a name it becomes `a-b`, and a second one between the same ends becomes `a-b#2`.
    ///
    /// # Errors
    /// Returns an error if the name is taken, the ends are the same node, or the capacity is negative, NaN, or finite
    /// and over 1e100 bit/s.
    pub fn link(
        &mut self,
        name: Option<&str>,
        source: NodeId,
        target: NodeId,
        capacity: Rate,
        delay: Span,
    ) -> Result<LinkId, NetworkError> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => self.free_link_name(source, target),
        };
        if source == target {
            return Err(NetworkError::SelfLoop(name, self.nodes[source.index()].name.clone()));
        }
        check_capacity(&name, capacity)?;
        let id = LinkId::new(self.links.len());
        if self.has_link(&name) {
            return Err(NetworkError::DuplicateLink(name));
        }
        self.link_names.insert(&name, id.0, |n| &self.links[n as usize].name);
        self.links.push(Link { name, source, target, capacity, delay, twin: None });
        Ok(id)
    }

    /// Adds a two-way link, which is two links that are each other's twin. The name is that of the first link; the link
    /// back is named `name~`, or after its own ends if there is no name.
    ///
    /// # Errors
    /// Returns an error in the cases that [`Self::link`] lists.
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

    /// Declares two links that were added separately to be each other's twin.
    ///
    /// # Errors
    /// Returns an error if they are not opposite, or one already has another twin.
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

    fn free_link_name(&mut self, source: NodeId, target: NodeId) -> String {
        let base = format!("{}-{}", self.nodes[source.index()].name, self.nodes[target.index()].name);
        let (links, names) = (&self.links, &self.link_names);
        self.free_names.find(base, |name| names.find(name, |n| &links[n as usize].name).is_some())
    }

    fn has_link(&self, name: &str) -> bool {
        self.link_names.find(name, |n| &self.links[n as usize].name).is_some()
    }

    /// Builds the immutable network.
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
            "link `a-b`: capacity is -1 bit/s; it must be 0 to 1e100, or infinite"
        );
        assert!(said(builder.link(None, a, b, Rate(f64::NAN), Span(0))).contains("NaN"));
        assert!(said(builder.link(None, a, a, Rate(1.0), Span(0))).contains("two different nodes"));
        builder.link(Some("x"), a, b, Rate(1.0), Span(0)).unwrap();
        assert!(said(builder.link(Some("x"), b, a, Rate(1.0), Span(0))).contains("already taken"));
        assert!(builder.node("a", None).is_err());
        assert!(builder.node("c", Some(Position { longitude: 200.0, latitude: 0.0 })).is_err());
    }

    #[test]
    fn a_capacity_is_at_most_1e100_or_infinite() {
        let (mut builder, a, b) = pair();
        let said = builder.link(None, a, b, Rate(1e200), Span(0)).unwrap_err().to_string();
        assert_eq!(said, "link `a-b`: capacity is 1e200 bit/s; it must be 0 to 1e100, or infinite");
        builder.link(None, a, b, Rate(1e100), Span(0)).unwrap();
        builder.link(None, b, a, Rate(f64::INFINITY), Span(0)).unwrap();
        assert!(builder.build().with_capacities(&[Rate(2e100), Rate(1.0)]).is_err());
    }

    #[test]
    fn twenty_thousand_parallel_links_have_names_of_their_own() {
        let (mut builder, a, b) = pair();
        for _ in 0..10_000 {
            builder.two_way(None, a, b, Rate(1e9), Span(0)).unwrap();
        }
        let network = builder.build();
        assert_eq!(network.links()[19_998].name, "a-b#10000");
        assert_eq!(network.links()[19_999].name, "b-a#10000");
    }

    #[test]
    fn a_name_taken_by_hand_is_left_out() {
        let (mut builder, a, b) = pair();
        let mut add = |name| {
            let id = builder.link(name, a, b, Rate(1e9), Span(0)).unwrap();
            builder.links[id.index()].name.clone()
        };
        let names = [None, Some("a-b#2"), None, Some("a-b#4"), None].map(&mut add);
        assert_eq!(names, ["a-b", "a-b#2", "a-b#3", "a-b#4", "a-b#5"]);
    }

    #[test]
    fn a_link_that_was_refused_leaves_its_name_free() {
        let (mut builder, a, b) = pair();
        builder.link(None, a, b, Rate(1e9), Span(0)).unwrap();
        assert!(builder.link(None, a, b, Rate(-1.0), Span(0)).is_err());
        let second = builder.link(None, a, b, Rate(1e9), Span(0)).unwrap();
        assert_eq!(builder.build().link(second).name, "a-b#2");
    }
}
