//! Folded Clos networks of data centres: the three-layer fat tree and the two-layer leaf-spine network.

use crate::id::NodeId;
use crate::network::Network;

use super::draft::Draft;
use super::error::{Checks, GenerateError};
use super::link::LinkKind;

/// A k-ary fat tree [alfares2008, sec. 2.2]: k pods of k/2 edge and k/2 aggregation switches under (k/2)^2 cores.
///
/// Core `core{i}.{j}` is linked to aggregation switch `agg{pod}.{i}` of every pod; every `edge{pod}.{e}` is linked to
/// every `agg{pod}.{a}` of its pod. With `hosts`, each edge switch has k/2 hosts `h{pod}.{e}.{n}`, k^3/4 in total. Each
/// of the two layers of switch links, and the layer of host links, has k^3/4 two-way links.
///
/// # Errors
/// Returns an error if `k` is odd or under 2, the tree is too large, or a capacity is invalid.
pub fn fat_tree(k: usize, switch: LinkKind, hosts: Option<LinkKind>) -> Result<Network, GenerateError> {
    let checks = Checks("fat tree");
    checks.require(k >= 2 && k.is_multiple_of(2), "k", k, "it must be even and 2 or more")?;
    checks.link_kind("switch", switch)?;
    if let Some(host) = hosts {
        checks.link_kind("hosts", host)?;
    }
    let half = k / 2;
    let layer = k.saturating_mul(half).saturating_mul(half);
    // k^3 / 4 hosts and 5 k^2 / 4 switches; a layer of links has k^3 / 4.
    let (below, layers) = if hosts.is_some() { (layer, 3) } else { (0, 2) };
    let switches = half.saturating_mul(half).saturating_mul(5);
    checks.size(switches.saturating_add(below), layer.saturating_mul(layers))?;

    let mut draft = Draft::new();
    let cores = draft.nodes(half * half, |c| format!("core{}.{}", c / half, c % half));
    for pod in 0..k {
        let aggregations = draft.nodes(half, |a| format!("agg{pod}.{a}"));
        let edges = draft.nodes(half, |e| format!("edge{pod}.{e}"));
        for (a, &aggregation) in aggregations.iter().enumerate() {
            join_all(&mut draft, &[aggregation], &cores[a * half..(a + 1) * half], switch);
        }
        join_all(&mut draft, &edges, &aggregations, switch);
        for (e, &edge) in edges.iter().enumerate() {
            if let Some(host) = hosts {
                let below = draft.nodes(half, |n| format!("h{pod}.{e}.{n}"));
                join_all(&mut draft, &below, &[edge], host);
            }
        }
    }
    Ok(draft.build())
}

/// The size and links of a leaf-spine network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeafSpineParameters {
    /// Number of leaves, the switches that carry hosts.
    pub leaves: usize,
    /// Number of spines, the switches that join the leaves.
    pub spines: usize,
    /// Number of hosts on each leaf; may be zero.
    pub hosts_per_leaf: usize,
    /// Kind of the links from leaf to spine.
    pub uplink: LinkKind,
    /// Kind of the links from host to leaf.
    pub host: LinkKind,
}

/// A leaf-spine network: every `leaf{l}` is joined to every `spine{s}` and has hosts `h{l}.{n}`.
///
/// # Errors
/// Returns an error if there are no leaves or spines, too many nodes or links, or an invalid capacity.
pub fn leaf_spine(parameters: &LeafSpineParameters) -> Result<Network, GenerateError> {
    let &LeafSpineParameters { leaves, spines, hosts_per_leaf, uplink, host } = parameters;
    let checks = Checks("leaf-spine");
    checks.at_least(1, "leaves", leaves)?;
    checks.at_least(1, "spines", spines)?;
    checks.link_kind("uplink", uplink)?;
    checks.link_kind("host", host)?;
    let hosts = leaves.saturating_mul(hosts_per_leaf);
    let nodes = leaves.saturating_add(spines).saturating_add(hosts);
    checks.size(nodes, leaves.saturating_mul(spines).saturating_add(hosts))?;

    let mut draft = Draft::new();
    let tops = draft.nodes(spines, |s| format!("spine{s}"));
    for l in 0..leaves {
        let leaf = draft.node(&format!("leaf{l}"));
        join_all(&mut draft, &[leaf], &tops, uplink);
        let below = draft.nodes(hosts_per_leaf, |n| format!("h{l}.{n}"));
        join_all(&mut draft, &below, &[leaf], host);
    }
    Ok(draft.build())
}

/// Joins each of `lower` to each of `upper`.
fn join_all(draft: &mut Draft, lower: &[NodeId], upper: &[NodeId], kind: LinkKind) {
    for &below in lower {
        for &above in upper {
            draft.join(below, above, kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::draft::tests::{GIGABIT, degree, is_connected, size};
    use super::*;
    use crate::units::Rate;

    #[test]
    fn a_fat_tree_of_four_has_sixteen_hosts_and_twenty_switches() {
        let network = fat_tree(4, GIGABIT, Some(GIGABIT)).unwrap();
        // 4 cores, 4 pods of 2 + 2 switches, 4^3 / 4 = 16 hosts; three layers of 16 links.
        assert_eq!(size(&network), (36, 48));
        // Every switch uses its 4 ports, every host its one.
        for (n, node) in network.nodes().iter().enumerate() {
            let ports = if node.name.starts_with('h') { 1 } else { 4 };
            assert_eq!(degree(&network, NodeId::new(n)), ports, "{}", node.name);
        }
        assert!(network.find_link("agg3.1-core1.0").is_some());
        assert!(network.find_link("agg3.1-core0.0").is_none());
    }

    #[test]
    fn without_hosts_only_the_switches_stay() {
        // k = 6: 9 cores, 6 pods of 6 switches; two layers of 6^3 / 4 = 54 links.
        assert_eq!(size(&fat_tree(6, GIGABIT, None).unwrap()), (45, 108));
    }

    #[test]
    fn every_leaf_meets_every_spine() {
        let uplink = LinkKind { capacity: Rate(4e9), ..GIGABIT };
        let parameters = LeafSpineParameters { leaves: 3, spines: 2, hosts_per_leaf: 4, uplink, host: GIGABIT };
        let network = leaf_spine(&parameters).unwrap();
        // 3 leaves, 2 spines, 12 hosts; 3 * 2 uplinks and 12 host links.
        assert_eq!(size(&network), (17, 18));
        let degree_of = |name| degree(&network, network.find_node(name).unwrap());
        assert_eq!([degree_of("spine1"), degree_of("leaf0"), degree_of("h2.3")], [3, 6, 1]);
        assert_eq!(network.link(network.find_link("leaf2-spine1").unwrap()).capacity, Rate(4e9));
    }

    #[test]
    fn bad_parameters_are_refused() {
        for k in [0, 3] {
            let said = fat_tree(k, GIGABIT, None).unwrap_err().to_string();
            assert_eq!(said, format!("fat tree: k is {k}; it must be even and 2 or more"));
        }
        assert!(fat_tree(1 << 20, GIGABIT, None).is_err());
        // 200^3 / 4 = 2,000,000 hosts and as many two-way links in each of three layers.
        let said = fat_tree(200, GIGABIT, Some(GIGABIT)).unwrap_err().to_string();
        assert_eq!(said, "fat tree: it would make 12000000 links; there may be 5000000, so ask for fewer");
        assert!(fat_tree(2, GIGABIT, Some(LinkKind { capacity: Rate(-1.0), ..GIGABIT })).is_err());
        let good = LeafSpineParameters { leaves: 1, spines: 1, hosts_per_leaf: 0, uplink: GIGABIT, host: GIGABIT };
        assert!(leaf_spine(&good).is_ok());
        assert!(leaf_spine(&LeafSpineParameters { leaves: 0, ..good }).is_err());
        assert!(leaf_spine(&LeafSpineParameters { spines: 0, ..good }).is_err());
        assert!(leaf_spine(&LeafSpineParameters { hosts_per_leaf: usize::MAX, ..good }).is_err());
    }

    proptest! {
        #[test]
        fn every_fat_tree_is_connected_and_has_its_counts(half in 1usize..7) {
            let k = 2 * half;
            let network = fat_tree(k, GIGABIT, Some(GIGABIT)).unwrap();
            prop_assert!(is_connected(&network));
            let hosts = k * k * k / 4;
            prop_assert_eq!(size(&network), (hosts + 5 * k * k / 4, 3 * hosts));
        }

        #[test]
        fn every_leaf_spine_is_connected(leaves in 1usize..9, spines in 1usize..9, hosts_per_leaf in 0usize..5) {
            let parameters = LeafSpineParameters { leaves, spines, hosts_per_leaf, uplink: GIGABIT, host: GIGABIT };
            prop_assert!(is_connected(&leaf_spine(&parameters).unwrap()));
        }
    }
}
