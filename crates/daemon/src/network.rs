//! The network as an agent knows it: nodes and links by name, and the present capacity of each link.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anabranch_agents::message::number_of;
use anabranch_agents::{AgentId, Step};
use anabranch_core::paths::{Metric, k_shortest};
use anabranch_core::{Network, NetworkBuilder, NodeId, Rate};
use anabranch_scenario::{NetworkSource, Scenario};

use crate::config::ConfigError;

/// A network with a number for each name.
#[derive(Clone, Debug)]
pub struct Map {
    network: Network,
    /// The place of each link in the network, by its agent and its number.
    links: BTreeMap<(AgentId, u32), usize>,
    capacities: Vec<Rate>,
    /// The nodes, with the links that are up.
    up: Network,
}

impl Map {
    /// Reads a network: a scenario file with links.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let wrong = |reason: String| ConfigError { path: path.to_owned(), reason };
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let scenario = Scenario::parse(&text).map_err(|error| wrong(error.to_string()))?;
        match scenario.network().map_err(|error| wrong(error.to_string()))? {
            NetworkSource::Inline(network) => Self::of(network).map_err(wrong),
            NetworkSource::File(_) => Err(wrong("it names another file; write the links themselves".to_owned())),
        }
    }

    /// A network whose names have different numbers.
    pub(crate) fn of(network: Network) -> Result<Self, String> {
        let mut names = BTreeMap::new();
        for node in network.nodes() {
            if let Some(other) = names.insert(AgentId::of(&node.name), &node.name) {
                return Err(format!("the nodes `{other}` and `{}` have the same number; rename one", node.name));
            }
        }
        let mut links = BTreeMap::new();
        for (place, link) in network.links().iter().enumerate() {
            let owner = AgentId::of(&network.node(link.source).name);
            if links.insert((owner, number_of(&link.name)), place).is_some() {
                return Err(format!("the link `{}` has the number of another of its node; rename one", link.name));
            }
        }
        let capacities: Vec<Rate> = network.links().iter().map(|link| link.capacity).collect();
        let up = with_links(&network, |place| capacities[place].0 > 0.0);
        Ok(Self { network, links, capacities, up })
    }

    /// The network as its file has it.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// Whether another network has the same nodes and links, if perhaps with other capacities.
    pub(crate) fn has_links_of(&self, other: &Self) -> bool {
        let links = |map: &Self| -> Vec<_> {
            map.network
                .links()
                .iter()
                .map(|link| (link.name.clone(), map.agent(link.source), map.agent(link.target)))
                .collect()
        };
        links(self) == links(other) && self.network.nodes().len() == other.network.nodes().len()
    }

    /// All links, each by its agent and its number.
    pub(crate) fn known(&self) -> BTreeSet<(AgentId, u32)> {
        self.links.keys().copied().collect()
    }

    /// Whether a link is one of the network.
    pub(crate) fn has(&self, agent: AgentId, link: u32) -> bool {
        self.links.contains_key(&(agent, link))
    }

    /// The node with a name.
    pub(crate) fn node(&self, name: &str) -> Result<NodeId, String> {
        let hint = || self.network.node_hint(name);
        self.network.find_node(name).ok_or_else(|| format!("there is no node `{name}`{}", hint()))
    }

    /// The name of a node.
    pub(crate) fn name(&self, node: NodeId) -> &str {
        &self.network.node(node).name
    }

    /// The agent of a node.
    pub(crate) fn agent(&self, node: NodeId) -> AgentId {
        AgentId::of(&self.network.node(node).name)
    }

    /// The names of the nodes to which links lead, or from which links come.
    pub(crate) fn around(&self, node: NodeId) -> BTreeSet<String> {
        let out = self.network.links_from(node).iter().map(|&link| self.network.link(link).target);
        let into = self.network.links_into(node).iter().map(|&link| self.network.link(link).source);
        out.chain(into).map(|node| self.network.node(node).name.clone()).collect()
    }

    /// The names of the links that leave a node.
    pub(crate) fn links_from(&self, node: NodeId) -> BTreeSet<String> {
        self.network.links_from(node).iter().map(|&link| self.network.link(link).name.clone()).collect()
    }

    /// The links that leave a node: name, end and capacity as the file has it.
    pub(crate) fn own_links(&self, node: NodeId) -> impl Iterator<Item = (&str, AgentId, Rate)> {
        self.network.links_from(node).iter().map(|&id| {
            let link = self.network.link(id);
            (link.name.as_str(), self.agent(link.target), link.capacity)
        })
    }

    /// The places in the network of the links of a path from a node, which are known by their numbers.
    pub(crate) fn places(&self, from: NodeId, links: impl IntoIterator<Item = u32>) -> Option<Vec<usize>> {
        let mut node = from;
        let mut next = |link: u32| {
            let place = *self.links.get(&(self.agent(node), link))?;
            node = self.network.links()[place].target;
            Some(place)
        };
        links.into_iter().map(&mut next).collect()
    }

    /// Takes note of the capacity of a link, 0 if it is down; whether paths may be others now.
    pub(crate) fn set_capacity(&mut self, agent: AgentId, link: u32, capacity: Rate) -> bool {
        let Some(&place) = self.links.get(&(agent, link)).filter(|_| capacity.is_capacity()) else { return false };
        let old = std::mem::replace(&mut self.capacities[place], capacity);
        let is_other = (old.0 > 0.0) != (capacity.0 > 0.0);
        if is_other {
            self.up = with_links(&self.network, |place| self.capacities[place].0 > 0.0);
        }
        is_other
    }

    /// The shortest paths of a pair over links that are up, `count` at most.
    pub(crate) fn paths(&self, source: NodeId, target: NodeId, count: usize) -> Vec<(Vec<Step>, AgentId)> {
        let network = &self.up;
        let Ok(paths) = k_shortest(network, &[(source, target)], count, &Metric::Hops, &|_| true) else {
            return Vec::new();
        };
        let step = |&id: &anabranch_core::LinkId| {
            let link = network.link(id);
            Step { agent: self.agent(link.source), link: number_of(&link.name) }
        };
        (0..paths.len()).map(|path| (paths.path(path).iter().map(step).collect(), self.agent(target))).collect()
    }
}

/// The network with some of its links; its nodes have the same ids.
fn with_links(network: &Network, is_one: impl Fn(usize) -> bool) -> Network {
    let mut builder = NetworkBuilder::new();
    for node in network.nodes() {
        builder.node(&node.name, node.position).expect("a network has different names");
    }
    for (_, link) in network.links().iter().enumerate().filter(|(place, _)| is_one(*place)) {
        let added = builder.link(Some(&link.name), link.source, link.target, link.capacity, link.delay);
        added.expect("it is a link of a network");
    }
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_avoid_links_that_are_down_and_take_them_again() {
        let mut builder = NetworkBuilder::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| builder.node(name, None).unwrap());
        for (source, target) in [(a, c), (a, b), (b, c)] {
            builder.link(None, source, target, Rate(1e6), anabranch_core::Span(0)).unwrap();
        }
        let mut map = Map::of(builder.build()).unwrap();
        let lengths = |map: &Map| map.paths(a, c, 2).iter().map(|(steps, _)| steps.len()).collect::<Vec<_>>();
        let agent = map.agent(a);
        let mut set = |name: &str, bps| (map.set_capacity(agent, number_of(name), Rate(bps)), lengths(&map));
        assert_eq!(set("a-c", 0.0), (true, vec![2]));
        assert_eq!(set("a-b", 0.0), (true, vec![]));
        assert_eq!(set("a-c", 5.0), (true, vec![1]));
        assert_eq!(set("a-c", 7.0), (false, vec![1]));
        assert_eq!(set("a-b", 7.0), (true, vec![1, 2]));
        // A link that nobody has changes nothing.
        assert_eq!(set("b-c", 0.0), (false, vec![1, 2]));
    }
}
