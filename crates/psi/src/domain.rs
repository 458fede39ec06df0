//! A domain: its rendezvous, and the topology manager that carries out the rendezvous' orders.

use std::collections::BTreeMap;

use anabranch_core::paths::MOST_PATHS;
use anabranch_core::{LinkId, NodeId};
use thiserror::Error;

use crate::rendezvous::{Identifier, PathOrder, Rendezvous, RendezvousError};
use crate::topology_manager::{RequestId, TopologyError, TopologyManager};

/// An error of a domain, which has changed nothing.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum DomainError {
    #[error(transparent)]
    Rendezvous(#[from] RendezvousError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// The items that are published and subscribed to on a network, with the paths for each subscriber.
///
/// Methods that change paths return, in ascending order, the requests whose new records are to be sent to their
/// receivers.
#[derive(Clone, Debug)]
pub struct Domain {
    rendezvous: Rendezvous,
    manager: TopologyManager,
    /// Number of paths to find from each publisher.
    count: usize,
    requests: BTreeMap<(Identifier, NodeId), RequestId>,
}

impl Domain {
    /// A domain without items, in which subscribers have up to `count` paths from each publisher.
    ///
    /// # Errors
    /// Returns an error for a count out of its range.
    pub fn new(manager: TopologyManager, count: usize) -> Result<Self, TopologyError> {
        if !(1..=MOST_PATHS).contains(&count) {
            return Err(TopologyError::Count(count));
        }
        Ok(Self { rendezvous: Rendezvous::new(), manager, count, requests: BTreeMap::new() })
    }

    /// The topology manager, for reading; only the domain changes it.
    pub fn manager(&self) -> &TopologyManager {
        &self.manager
    }

    /// The request of a subscriber for an item; `None` if no other node has the item.
    pub fn request_of(&self, item: &Identifier, subscriber: NodeId) -> Option<RequestId> {
        self.requests.get(&(item.clone(), subscriber)).copied()
    }

    /// Adds a scope, with [`Rendezvous::add_scope`].
    ///
    /// # Errors
    /// Returns the errors of [`Rendezvous::add_scope`].
    pub fn add_scope(&mut self, scope: &Identifier) -> Result<(), DomainError> {
        Ok(self.rendezvous.add_scope(scope)?)
    }

    /// Removes an empty scope, with [`Rendezvous::remove_scope`].
    ///
    /// # Errors
    /// Returns the errors of [`Rendezvous::remove_scope`].
    pub fn remove_scope(&mut self, scope: &Identifier) -> Result<(), DomainError> {
        Ok(self.rendezvous.remove_scope(scope)?)
    }

    /// Adds a node to the publishers of an item.
    ///
    /// # Errors
    /// Returns an error if there is no such node, and the errors of [`Rendezvous::publish`].
    pub fn publish(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        self.check_node(node)?;
        let orders = self.rendezvous.publish(item, node)?;
        Ok(self.carry_out(orders))
    }

    /// Removes a node from the publishers of an item.
    ///
    /// # Errors
    /// Returns the errors of [`Rendezvous::unpublish`].
    pub fn unpublish(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        let orders = self.rendezvous.unpublish(item, node)?;
        Ok(self.carry_out(orders))
    }

    /// Adds a node to the subscribers of an item.
    ///
    /// # Errors
    /// Returns an error if there is no such node, and the errors of [`Rendezvous::subscribe`].
    pub fn subscribe(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        self.check_node(node)?;
        let order = self.rendezvous.subscribe(item, node)?;
        Ok(self.carry_out(order))
    }

    /// Removes a node from the subscribers of an item.
    ///
    /// # Errors
    /// Returns the errors of [`Rendezvous::unsubscribe`].
    pub fn unsubscribe(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        let order = self.rendezvous.unsubscribe(item, node)?;
        Ok(self.carry_out(order))
    }

    /// Takes a link down.
    ///
    /// # Errors
    /// Returns an error if there is no such link.
    pub fn fail(&mut self, link: LinkId) -> Result<Vec<RequestId>, DomainError> {
        Ok(self.manager.fail(link)?)
    }

    /// Brings a link up again.
    ///
    /// # Errors
    /// Returns an error if there is no such link.
    pub fn restore(&mut self, link: LinkId) -> Result<Vec<RequestId>, DomainError> {
        Ok(self.manager.restore(link)?)
    }

    fn check_node(&self, node: NodeId) -> Result<(), TopologyError> {
        let nodes = self.manager.network().nodes().len();
        if node.index() < nodes { Ok(()) } else { Err(TopologyError::UnknownNode { node: node.0, nodes }) }
    }

    /// Carries out orders to make, change or end requests; returns the requests that exist afterwards.
    ///
    /// The manager refuses none of them: nodes and the number of paths were checked, and an order names each publisher
    /// once and never the subscriber.
    fn carry_out(&mut self, orders: impl IntoIterator<Item = PathOrder>) -> Vec<RequestId> {
        let mut changed = Vec::new();
        for PathOrder { item, subscriber, publishers } in orders {
            let key = (item, subscriber);
            match self.requests.get(&key) {
                Some(&request) if publishers.is_empty() => {
                    self.manager.end(request).expect("the domain alone ends its requests");
                    self.requests.remove(&key);
                }
                Some(&request) => {
                    self.manager.set_publishers(request, &publishers).expect("an order can be carried out");
                    changed.push(request);
                }
                None => {
                    let request = self.manager.request(subscriber, &publishers, self.count);
                    let request = request.expect("an order can be carried out");
                    self.requests.insert(key, request);
                    changed.push(request);
                }
            }
        }
        changed.sort_unstable();
        changed
    }
}
