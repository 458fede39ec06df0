//! The items that are published: their names, who has them, and who wants them.
//!
//! The rendezvous of [`anabranch_psi`] matches nodes, and orders paths; here several programs of a node have one item.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_core::NodeId;
use anabranch_psi::rendezvous::PathOrder;
use anabranch_psi::{Identifier, Rendezvous};

/// The most sources of an item.
const MOST_SOURCES: usize = 64;

/// An order for paths to a program, by its number: the nodes where they begin.
pub(super) type Order = (u64, Vec<NodeId>);

/// The items with a source or a program that wants them.
#[derive(Debug, Default)]
pub(super) struct Items {
    rendezvous: Rendezvous,
    all: BTreeMap<String, Item>,
    next: u64,
    /// Numbers of items with a source, and of sources.
    counts: (usize, usize),
}

#[derive(Debug)]
struct Item {
    id: Identifier,
    /// The sources: nodes and URLs, with the number of programs that publish each.
    sources: BTreeMap<(NodeId, String), usize>,
    /// The programs that want it, by their nodes.
    finders: BTreeMap<NodeId, BTreeSet<u64>>,
}

impl Item {
    fn is_at(&self, node: NodeId) -> bool {
        self.sources.keys().any(|(own, _)| *own == node)
    }

    /// The nodes that have it, without one.
    fn nodes_but(&self, node: NodeId) -> Vec<NodeId> {
        let nodes: BTreeSet<NodeId> = self.sources.keys().map(|(own, _)| *own).filter(|own| *own != node).collect();
        nodes.into_iter().collect()
    }

    /// Hands the orders for nodes to the programs there.
    fn orders(&self, orders: Vec<PathOrder>) -> Vec<Order> {
        let to_programs = |order: PathOrder| {
            let programs = self.finders.get(&order.subscriber).into_iter().flatten();
            programs.map(move |&program| (program, order.publishers.clone())).collect::<Vec<_>>()
        };
        orders.into_iter().flat_map(to_programs).collect()
    }
}

impl Items {
    /// Adds a source, and gives orders for paths to those who want the item.
    ///
    /// # Errors
    /// Returns an error if the item has as many sources as it may.
    pub fn publish(&mut self, name: &str, node: NodeId, at: &str) -> Result<Vec<Order>, String> {
        let source = (node, at.to_owned());
        let item = self.entry(name);
        let is_known = item.sources.contains_key(&source);
        if item.sources.len() >= MOST_SOURCES && !is_known {
            return Err(format!("`{name}` has {MOST_SOURCES} sources already, which is the most"));
        }
        let (is_first, is_there) = (item.sources.is_empty(), item.is_at(node));
        *item.sources.entry(source).or_default() += 1;
        self.counts.0 += usize::from(is_first);
        self.counts.1 += usize::from(!is_known);
        if is_there {
            return Ok(Vec::new());
        }
        let item = &self.all[name];
        let orders = self.rendezvous.publish(&item.id, node).expect("the node is a new one");
        Ok(item.orders(orders))
    }

    /// Takes a source away that was added, and gives orders for paths to those who want the item.
    pub fn unpublish(&mut self, name: &str, node: NodeId, at: &str) -> Vec<Order> {
        let Some(item) = self.all.get_mut(name) else { return Vec::new() };
        let source = (node, at.to_owned());
        let programs = item.sources.get_mut(&source).map_or(0, |programs| {
            *programs -= 1;
            *programs
        });
        if programs > 0 {
            return Vec::new();
        }
        item.sources.remove(&source);
        self.counts.1 -= 1;
        self.counts.0 -= usize::from(item.sources.is_empty());
        let mut orders = Vec::new();
        if !item.is_at(node) {
            let of_nodes = self.rendezvous.unpublish(&item.id, node).expect("the node was added");
            orders = item.orders(of_nodes);
        }
        self.forget_if_unused(name);
        orders
    }

    /// Adds a program of a node that wants an item, and gives the other nodes that have it.
    pub fn subscribe(&mut self, name: &str, node: NodeId, program: u64) -> Vec<NodeId> {
        let item = self.entry(name);
        let programs = item.finders.entry(node).or_default();
        let is_first = programs.is_empty();
        programs.insert(program);
        if is_first {
            let order = self.rendezvous.subscribe(&self.all[name].id, node).expect("the node is a new one");
            return order.map(|order| order.publishers).unwrap_or_default();
        }
        item.nodes_but(node)
    }

    /// Takes away a program that was added.
    pub fn unsubscribe(&mut self, name: &str, node: NodeId, program: u64) {
        let Some(item) = self.all.get_mut(name) else { return };
        let Some(programs) = item.finders.get_mut(&node) else { return };
        programs.remove(&program);
        if programs.is_empty() {
            item.finders.remove(&node);
            // Its paths end with the request of the program.
            self.rendezvous.unsubscribe(&item.id, node).expect("the node was added");
        }
        self.forget_if_unused(name);
    }

    /// The programs that want an item.
    pub fn finders(&self, name: &str) -> impl Iterator<Item = u64> {
        self.all.get(name).into_iter().flat_map(|item| item.finders.values().flatten().copied())
    }

    /// The sources of an item, by their nodes.
    pub fn sources(&self, name: &str) -> impl Iterator<Item = (NodeId, &str)> {
        self.all.get(name).into_iter().flat_map(|item| item.sources.keys()).map(|(node, at)| (*node, at.as_str()))
    }

    /// The names of items with a source, after a name.
    pub fn after<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let bounds = (std::ops::Bound::Excluded(name.to_owned()), std::ops::Bound::Unbounded);
        self.all.range(bounds).filter(|(_, item)| !item.sources.is_empty()).map(|(name, _)| name.as_str())
    }

    /// Numbers of items with a source, and of sources.
    pub fn counts(&self) -> (usize, usize) {
        self.counts
    }

    fn entry(&mut self, name: &str) -> &mut Item {
        let next = &mut self.next;
        self.all.entry(name.to_owned()).or_insert_with(|| {
            *next += 1;
            Item { id: Identifier(vec![*next]), sources: BTreeMap::new(), finders: BTreeMap::new() }
        })
    }

    fn forget_if_unused(&mut self, name: &str) {
        if self.all.get(name).is_some_and(|item| item.sources.is_empty() && item.finders.is_empty()) {
            self.all.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);
    const C: NodeId = NodeId(2);

    #[test]
    fn programs_of_one_node_count_as_one_source_and_are_ordered_each() {
        let mut items = Items::default();
        assert_eq!(items.subscribe("x", C, 7), []);
        assert_eq!(items.publish("x", A, "u://1"), Ok(vec![(7, vec![A])]));
        // A second URL at a node changes no paths, nor does the same one of another program.
        assert_eq!(items.publish("x", A, "u://2"), Ok(vec![]));
        assert_eq!(items.publish("x", A, "u://1"), Ok(vec![]));
        assert_eq!(items.subscribe("x", C, 8), [A]);
        assert_eq!(items.publish("x", B, "u://3"), Ok(vec![(7, vec![A, B]), (8, vec![A, B])]));
        assert_eq!(items.sources("x").collect::<Vec<_>>(), [(A, "u://1"), (A, "u://2"), (B, "u://3")]);
        assert_eq!(items.counts(), (1, 3));
        assert_eq!(items.unpublish("x", A, "u://1"), []);
        assert_eq!(items.unpublish("x", A, "u://1"), []);
        assert_eq!(items.unpublish("x", A, "u://2"), [(7, vec![B]), (8, vec![B])]);
        items.unsubscribe("x", C, 7);
        assert_eq!(items.finders("x").collect::<Vec<_>>(), [8]);
        assert_eq!(items.unpublish("x", B, "u://3"), [(8, vec![])]);
        items.unsubscribe("x", C, 8);
        assert!(items.all.is_empty() && items.counts() == (0, 0));
    }

    #[test]
    fn an_item_has_so_many_sources_and_no_more() {
        let mut items = Items::default();
        for number in 0..MOST_SOURCES {
            items.publish("x", A, &format!("u://{number}")).unwrap();
        }
        assert!(items.publish("x", A, "u://more").unwrap_err().contains("64 sources already"));
        assert_eq!(items.publish("x", A, "u://3"), Ok(vec![]), "a program may publish the same again");
        assert_eq!(items.publish("y", A, "u://more"), Ok(vec![]));
        assert_eq!(items.after("x").collect::<Vec<_>>(), ["y"]);
    }
}
