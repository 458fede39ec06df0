//! Paths given by the user: by the nodes they visit or the links they take.

use super::PathError;
use crate::id::{LinkId, NodeId};
use crate::network::Network;

/// Returns the links along nodes given by name; `place` names the path in an error.
///
/// # Errors
/// Returns an error for an unknown node, or for two nodes without a link between them or with several; in the last case
/// the path has to be given by its links.
pub fn links_along<S: AsRef<str>>(network: &Network, nodes: &[S], place: &str) -> Result<Vec<LinkId>, PathError> {
    let find = |node: &S| {
        let node = node.as_ref();
        network.find_node(node).ok_or_else(|| PathError::UnknownNode {
            place: place.to_owned(),
            node: node.to_owned(),
            hint: network.node_hint(node),
        })
    };
    let nodes = nodes.iter().map(find).collect::<Result<Vec<NodeId>, _>>()?;
    nodes.windows(2).map(|ends| only_link(network, ends[0], ends[1], place)).collect()
}

fn only_link(network: &Network, from: NodeId, to: NodeId, place: &str) -> Result<LinkId, PathError> {
    let mut between = network.links_from(from).iter().filter(|&&l| network.link(l).target == to);
    let first = between.next();
    let more = between.count();
    let (place, from, to) = (place.to_owned(), network.node(from).name.clone(), network.node(to).name.clone());
    match (first, more) {
        (None, _) => Err(PathError::NoLink { place, from, to }),
        (Some(&link), 0) => Ok(link),
        (Some(_), more) => Err(PathError::Ambiguous { place, from, to, count: more + 1 }),
    }
}

/// Returns the links of the given names; `place` names the path in an error.
///
/// # Errors
/// Returns an error for an unknown link. [`super::check_path`] finds gaps and loops.
pub fn links_named<S: AsRef<str>>(network: &Network, links: &[S], place: &str) -> Result<Vec<LinkId>, PathError> {
    let find = |link: &S| {
        let link = link.as_ref();
        network.find_link(link).ok_or_else(|| PathError::UnknownLink { place: place.to_owned(), link: link.to_owned() })
    };
    links.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NetworkBuilder;
    use crate::paths::check_path;
    use crate::units::{Rate, Span};

    /// a - b twice, b - c once.
    fn network() -> Network {
        let mut builder = NetworkBuilder::new();
        let [a, b, c] = ["a", "b", "c"].map(|n| builder.node(n, None).unwrap());
        for (from, to) in [(a, b), (a, b), (b, c)] {
            builder.two_way(None, from, to, Rate(1e9), Span(0)).unwrap();
        }
        builder.build()
    }

    #[test]
    fn a_path_by_nodes_needs_one_link_between_each_two() {
        let network = network();
        let said = |nodes: &[&str]| links_along(&network, nodes, "path 1").unwrap_err().to_string();
        assert_eq!(links_along(&network, &["b", "c"], "path 1").unwrap(), [LinkId(4)]);
        assert!(said(&["a", "c"]).contains("no link leads from node `a` to node `c`"));
        assert!(said(&["a", "b"]).contains("2 parallel links"));
        assert!(said(&["a", "bb"]).contains("did you mean `b`?"));
    }

    #[test]
    fn gaps_loops_and_wrong_ends_are_refused() {
        let network = network();
        let [a, c] = ["a", "c"].map(|n| network.find_node(n).unwrap());
        let check = |names: &[&str]| {
            let path = links_named(&network, names, "path 1").unwrap();
            check_path(&network, &path, a, c, "path 1").map_err(|e| e.to_string())
        };
        assert_eq!(check(&["a-b#2", "b-c"]), Ok(()));
        assert!(check(&["b-c"]).unwrap_err().contains("begins at node `b`"));
        assert!(check(&["a-b"]).unwrap_err().contains("ends at node `b`"));
        assert!(check(&["a-b", "b-a#2", "a-b#2", "b-c"]).unwrap_err().contains("twice"));
        assert!(check(&["a-b", "c-b"]).unwrap_err().contains("gap"));
        assert!(check(&[]).unwrap_err().contains("no links"));
    }
}
