//! The network as an agent knows it, for others to read.

use std::collections::BTreeMap;

use super::rfc8345::{
    Attributes, Bandwidth, Destination, Empty, Link, LinkTe, Network, Networks, Node, NodeTe, Number, Source, Topology,
    Types,
};
use super::site::Site;
use crate::shown::State;

/// The network: capacities and states of links as the agent has heard of them last, and what it grants on each.
pub(super) fn topology(site: &Site) -> Topology {
    let (names, state) = (site.names(), site.watch().state());
    let network = names.network();
    let name = |id| network.node(id).name.clone();
    let granted = granted(&state);
    let present = names.capacities();
    let node = network.nodes().iter().map(|node| Node {
        node_id: node.name.clone(),
        te: status(&node.name, &state).map(|oper_status| NodeTe { oper_status }),
        longitude: node.position.map(|position| position.longitude),
        latitude: node.position.map(|position| position.latitude),
    });
    let link = network.links().iter().map(|link| {
        let known = present.get(&*link.name).copied();
        // Of a link that is down the capacity is that which it has otherwise.
        let capacity = known.filter(|known| known.0 > 0.0).unwrap_or(link.capacity);
        let is_down = known.unwrap_or(link.capacity).0 <= 0.0;
        Link {
            link_id: link.name.clone(),
            source: Source { source_node: name(link.source) },
            destination: Destination { dest_node: name(link.target) },
            te: LinkTe {
                te_link_attributes: Attributes {
                    max_link_bandwidth: Bandwidth::of(capacity.0),
                    te_delay_metric: (link.delay.seconds() * 1e6).round().min(f64::from(u32::MAX)) as u32,
                },
                oper_status: if is_down { "down" } else { "up" },
            },
            capacity_bps: Number::of(capacity.0),
            delay_s: link.delay.seconds(),
            twin: link.twin.map_or_else(String::new, |twin| network.link(twin).name.clone()),
            granted_bps: granted.get(&*link.name).copied().unwrap_or(0.0),
        }
    });
    let network = Network {
        network_id: "anabranch".to_owned(),
        network_types: Types { te_topology: Empty {} },
        node: node.collect(),
        link: link.collect(),
    };
    Topology { networks: Networks { network: vec![network] } }
}

/// The state of a node, of which an agent knows its own and those of its neighbours.
fn status(node: &str, state: &State) -> Option<&'static str> {
    if node == state.node {
        return Some("up");
    }
    let neighbour = state.neighbours.iter().find(|neighbour| neighbour.node == node)?;
    Some(if neighbour.state == "up" { "up" } else { "down" })
}

/// What the sessions of the agent are granted on each link.
fn granted(state: &State) -> BTreeMap<&str, f64> {
    let mut all = BTreeMap::new();
    for path in state.sessions.iter().flat_map(|session| &session.paths) {
        for link in &path.links {
            *all.entry(&**link).or_default() += path.rate_bps;
        }
    }
    all
}
