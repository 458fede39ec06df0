//! The rendezvous: it records publishers and subscribers of items, and matches them.
//!
//! Items lie in scopes, and scopes in other scopes, as files in folders. Each has an identifier, which begins with that
//! of its scope [thomas2016, sec. III-A; parisis2013]. When an item has a publisher and a subscriber, the rendezvous
//! orders the topology manager to find paths. Publishers that join or leave later change the order.
//!
//! differs: subscriptions are to items only, not to whole scopes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anabranch_core::NodeId;
use thiserror::Error;

/// The identifier of an item or a scope: the numbers of the scopes that contain it, and its own number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(pub Vec<u64>);

impl Identifier {
    /// The scope that contains it; none for the root, which has no numbers.
    pub fn scope(&self) -> Option<Self> {
        self.0.split_last().map(|(_, scope)| Self(scope.to_vec()))
    }
}

impl fmt::Display for Identifier {
    /// Writes each number after a slash: `/1/7`; the root is `/`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("/");
        }
        self.0.iter().try_for_each(|number| write!(f, "/{number}"))
    }
}

/// An order to the topology manager: the paths for one subscriber of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathOrder {
    /// The item.
    pub item: Identifier,
    /// The subscriber.
    pub subscriber: NodeId,
    /// All publishers except the subscriber, in ascending order; if there are none, the paths are to be ended.
    pub publishers: Vec<NodeId>,
}

/// An action that publishers or subscribers may not take; it has changed nothing.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum RendezvousError {
    #[error("the root is a scope that is always there; name a scope or an item in it")]
    Root,
    #[error("`{id}`: there is no scope `{scope}`; add it first")]
    UnknownScope { id: Identifier, scope: Identifier },
    #[error("scope `{0}` is there already")]
    RepeatedScope(Identifier),
    #[error("scope `{0}` still has scopes or items; remove these first")]
    NotEmpty(Identifier),
    #[error("`{0}` is an item; items hold nothing, and are published")]
    IsItem(Identifier),
    #[error("`{0}` is a scope; publish or subscribe to an item in it")]
    IsScope(Identifier),
    #[error("item `{item}` is published by node {node} already")]
    RepeatedPublisher { item: Identifier, node: NodeId },
    #[error("item `{item}` is subscribed to by node {node} already")]
    RepeatedSubscriber { item: Identifier, node: NodeId },
    #[error("item `{item}` is not published by node {node}; there is nothing to take back")]
    NotPublisher { item: Identifier, node: NodeId },
    #[error("item `{item}` is not subscribed to by node {node}; there is nothing to take back")]
    NotSubscriber { item: Identifier, node: NodeId },
}

/// An item, which exists as long as a node publishes it or is subscribed to it.
#[derive(Clone, Debug, Default)]
struct Item {
    publishers: BTreeSet<NodeId>,
    subscribers: BTreeSet<NodeId>,
}

/// The tree of scopes and items, with the publishers and subscribers of each item.
#[derive(Clone, Debug, Default)]
pub struct Rendezvous {
    /// All scopes except the root.
    scopes: BTreeSet<Identifier>,
    items: BTreeMap<Identifier, Item>,
}

impl Rendezvous {
    /// A tree with only the root.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a scope to an existing one.
    ///
    /// # Errors
    /// Returns an error if the containing scope does not exist, or the identifier is in use.
    pub fn add_scope(&mut self, scope: &Identifier) -> Result<(), RendezvousError> {
        self.check_place(scope)?;
        if self.items.contains_key(scope) {
            return Err(RendezvousError::IsItem(scope.clone()));
        }
        if !self.scopes.insert(scope.clone()) {
            return Err(RendezvousError::RepeatedScope(scope.clone()));
        }
        Ok(())
    }

    /// Removes an empty scope.
    ///
    /// # Errors
    /// Returns an error if the scope does not exist, or is not empty.
    pub fn remove_scope(&mut self, scope: &Identifier) -> Result<(), RendezvousError> {
        self.check_place(scope)?;
        if !self.scopes.contains(scope) {
            return Err(RendezvousError::UnknownScope { id: scope.clone(), scope: scope.clone() });
        }
        // The contents of a scope follow it in the order of identifiers.
        let item = self.items.range(scope.clone()..).next().map(|(id, _)| id);
        let inner = self.scopes.range(scope.clone()..).nth(1);
        if [item, inner].into_iter().flatten().any(|id| id.0.starts_with(&scope.0)) {
            return Err(RendezvousError::NotEmpty(scope.clone()));
        }
        self.scopes.remove(scope);
        Ok(())
    }

    /// Adds a node to the publishers of an item. Returns an order for each subscriber.
    ///
    /// # Errors
    /// Returns an error if the item's scope does not exist, the item is a scope, or the node already publishes it.
    pub fn publish(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<PathOrder>, RendezvousError> {
        self.check_item(item)?;
        if !self.items.entry(item.clone()).or_default().publishers.insert(node) {
            return Err(RendezvousError::RepeatedPublisher { item: item.clone(), node });
        }
        Ok(self.orders_of_others(item, node))
    }

    /// Removes a node from the publishers of an item. Returns an order for each subscriber.
    ///
    /// # Errors
    /// Returns an error if the item's scope does not exist, the item is a scope, or the node does not publish it.
    pub fn unpublish(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<PathOrder>, RendezvousError> {
        self.check_item(item)?;
        if !self.items.get_mut(item).is_some_and(|held| held.publishers.remove(&node)) {
            return Err(RendezvousError::NotPublisher { item: item.clone(), node });
        }
        let orders = self.orders_of_others(item, node);
        self.forget_if_unused(item);
        Ok(orders)
    }

    /// Adds a node to the subscribers of an item, which need not have a publisher yet. Returns an order if another node
    /// has it.
    ///
    /// # Errors
    /// Returns an error if the item's scope does not exist, the item is a scope, or the node is already subscribed.
    pub fn subscribe(&mut self, item: &Identifier, node: NodeId) -> Result<Option<PathOrder>, RendezvousError> {
        self.check_item(item)?;
        if !self.items.entry(item.clone()).or_default().subscribers.insert(node) {
            return Err(RendezvousError::RepeatedSubscriber { item: item.clone(), node });
        }
        Ok(self.order(item, node).filter(|order| !order.publishers.is_empty()))
    }

    /// Removes a node from the subscribers of an item. Returns an order to end its paths, if it had any.
    ///
    /// # Errors
    /// Returns an error if the item's scope does not exist, the item is a scope, or the node is not subscribed.
    pub fn unsubscribe(&mut self, item: &Identifier, node: NodeId) -> Result<Option<PathOrder>, RendezvousError> {
        self.check_item(item)?;
        let before = self.order(item, node).filter(|order| !order.publishers.is_empty());
        if !self.items.get_mut(item).is_some_and(|held| held.subscribers.remove(&node)) {
            return Err(RendezvousError::NotSubscriber { item: item.clone(), node });
        }
        self.forget_if_unused(item);
        Ok(before.map(|order| PathOrder { publishers: Vec::new(), ..order }))
    }

    /// Checks that the scope of `id` exists.
    fn check_place(&self, id: &Identifier) -> Result<(), RendezvousError> {
        let scope = id.scope().ok_or(RendezvousError::Root)?;
        if scope.0.is_empty() || self.scopes.contains(&scope) {
            return Ok(());
        }
        if self.items.contains_key(&scope) {
            return Err(RendezvousError::IsItem(scope));
        }
        Err(RendezvousError::UnknownScope { id: id.clone(), scope })
    }

    fn check_item(&self, item: &Identifier) -> Result<(), RendezvousError> {
        self.check_place(item)?;
        if self.scopes.contains(item) { Err(RendezvousError::IsScope(item.clone())) } else { Ok(()) }
    }

    /// The order for one node; none if the item has no publisher or subscriber.
    fn order(&self, item: &Identifier, subscriber: NodeId) -> Option<PathOrder> {
        let held = self.items.get(item)?;
        let publishers = held.publishers.iter().copied().filter(|&node| node != subscriber).collect();
        Some(PathOrder { item: item.clone(), subscriber, publishers })
    }

    /// The orders for all subscribers except the changed publisher, which has the item itself.
    fn orders_of_others(&self, item: &Identifier, publisher: NodeId) -> Vec<PathOrder> {
        let subscribers = self.items[item].subscribers.iter().filter(|&&node| node != publisher);
        subscribers.filter_map(|&node| self.order(item, node)).collect()
    }

    fn forget_if_unused(&mut self, item: &Identifier) {
        let held = &self.items[item];
        if held.publishers.is_empty() && held.subscribers.is_empty() {
            self.items.remove(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(numbers: &[u64]) -> Identifier {
        Identifier(numbers.to_vec())
    }

    fn order(item: &[u64], subscriber: u32, publishers: &[u32]) -> PathOrder {
        let publishers = publishers.iter().map(|&n| NodeId(n)).collect();
        PathOrder { item: id(item), subscriber: NodeId(subscriber), publishers }
    }

    #[test]
    fn a_match_gives_an_order_and_publishers_change_it() {
        let mut rendezvous = Rendezvous::new();
        rendezvous.add_scope(&id(&[1])).unwrap();
        let item = id(&[1, 7]);
        assert_eq!(rendezvous.subscribe(&item, NodeId(5)), Ok(None));
        assert_eq!(rendezvous.publish(&item, NodeId(3)), Ok(vec![order(&[1, 7], 5, &[3])]));
        assert_eq!(rendezvous.subscribe(&item, NodeId(4)), Ok(Some(order(&[1, 7], 4, &[3]))));
        let both = vec![order(&[1, 7], 4, &[2, 3]), order(&[1, 7], 5, &[2, 3])];
        assert_eq!(rendezvous.publish(&item, NodeId(2)), Ok(both));
        assert_eq!(rendezvous.unsubscribe(&item, NodeId(4)), Ok(Some(order(&[1, 7], 4, &[]))));
        assert_eq!(rendezvous.unpublish(&item, NodeId(3)), Ok(vec![order(&[1, 7], 5, &[2])]));
        assert_eq!(rendezvous.unpublish(&item, NodeId(2)), Ok(vec![order(&[1, 7], 5, &[])]));
    }

    #[test]
    fn who_has_an_item_at_home_needs_no_paths_to_it() {
        let mut rendezvous = Rendezvous::new();
        let item = id(&[7]);
        rendezvous.publish(&item, NodeId(1)).unwrap();
        assert_eq!(rendezvous.subscribe(&item, NodeId(1)), Ok(None));
        assert_eq!(rendezvous.publish(&item, NodeId(2)), Ok(vec![order(&[7], 1, &[2])]));
        assert_eq!(rendezvous.unpublish(&item, NodeId(1)), Ok(vec![]));
    }

    #[test]
    fn scopes_come_before_what_they_hold_and_go_after_it() {
        let mut rendezvous = Rendezvous::new();
        let said = |error: RendezvousError| error.to_string();
        assert_eq!(
            said(rendezvous.add_scope(&id(&[1, 2])).unwrap_err()),
            "`/1/2`: there is no scope `/1`; add it first"
        );
        assert_eq!(rendezvous.add_scope(&id(&[])), Err(RendezvousError::Root));
        rendezvous.add_scope(&id(&[1])).unwrap();
        rendezvous.add_scope(&id(&[1, 2])).unwrap();
        rendezvous.publish(&id(&[1, 3]), NodeId(0)).unwrap();
        assert_eq!(rendezvous.add_scope(&id(&[1])), Err(RendezvousError::RepeatedScope(id(&[1]))));
        assert_eq!(rendezvous.add_scope(&id(&[1, 3])), Err(RendezvousError::IsItem(id(&[1, 3]))));
        assert_eq!(rendezvous.publish(&id(&[1, 3, 1]), NodeId(0)), Err(RendezvousError::IsItem(id(&[1, 3]))));
        assert_eq!(rendezvous.publish(&id(&[1, 2]), NodeId(0)), Err(RendezvousError::IsScope(id(&[1, 2]))));
        assert_eq!(rendezvous.remove_scope(&id(&[1])), Err(RendezvousError::NotEmpty(id(&[1]))));
        rendezvous.remove_scope(&id(&[1, 2])).unwrap();
        assert_eq!(rendezvous.remove_scope(&id(&[1])), Err(RendezvousError::NotEmpty(id(&[1]))));
        rendezvous.unpublish(&id(&[1, 3]), NodeId(0)).unwrap();
        rendezvous.remove_scope(&id(&[1])).unwrap();
        assert!(rendezvous.remove_scope(&id(&[1])).is_err());
    }

    #[test]
    fn what_was_not_done_cannot_be_taken_back() {
        let mut rendezvous = Rendezvous::new();
        let item = id(&[1]);
        assert!(rendezvous.unpublish(&item, NodeId(0)).is_err());
        rendezvous.subscribe(&item, NodeId(0)).unwrap();
        assert!(rendezvous.subscribe(&item, NodeId(0)).is_err());
        assert!(rendezvous.unpublish(&item, NodeId(0)).is_err());
        assert!(rendezvous.unsubscribe(&item, NodeId(1)).is_err());
        rendezvous.publish(&item, NodeId(0)).unwrap();
        assert!(rendezvous.publish(&item, NodeId(0)).is_err());
    }
}
