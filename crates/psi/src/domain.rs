//! A domain: its rendezvous, and the topology manager that carries out what it orders.

use std::collections::BTreeMap;

use anabranch_core::paths::MOST_PATHS;
use anabranch_core::{LinkId, NodeId};
use thiserror::Error;

use crate::rendezvous::{Identifier, PathOrder, Rendezvous, RendezvousError};
use crate::topology_manager::{RequestId, TopologyError, TopologyManager};

/// What a domain refuses, before anything is changed.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum DomainError {
    #[error(transparent)]
    Rendezvous(#[from] RendezvousError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// Items published and subscribed to on a network, with the paths for each subscriber.
///
/// What changes paths gives the requests whose records are to be told to their receivers, in ascending order.
#[derive(Clone, Debug)]
pub struct Domain {
    rendezvous: Rendezvous,
    manager: TopologyManager,
    /// Paths to find from each publisher.
    count: usize,
    requests: BTreeMap<(Identifier, NodeId), RequestId>,
}

impl Domain {
    /// A domain without items, where subscribers have up to `count` paths from each publisher.
    ///
    /// # Errors
    /// A count out of its range.
    pub fn new(manager: TopologyManager, count: usize) -> Result<Self, TopologyError> {
        if !(1..=MOST_PATHS).contains(&count) {
            return Err(TopologyError::Count(count));
        }
        Ok(Self { rendezvous: Rendezvous::new(), manager, count, requests: BTreeMap::new() })
    }

    /// The topology manager: what it holds is read here, and changed by the domain alone.
    pub fn manager(&self) -> &TopologyManager {
        &self.manager
    }

    /// The request for an item by a subscriber, while anybody else has it.
    pub fn request_of(&self, item: &Identifier, subscriber: NodeId) -> Option<RequestId> {
        self.requests.get(&(item.clone(), subscriber)).copied()
    }

    /// Adds a scope; see [`Rendezvous::add_scope`].
    ///
    /// # Errors
    /// As there.
    pub fn add_scope(&mut self, scope: &Identifier) -> Result<(), DomainError> {
        Ok(self.rendezvous.add_scope(scope)?)
    }

    /// Removes an empty scope; see [`Rendezvous::remove_scope`].
    ///
    /// # Errors
    /// As there.
    pub fn remove_scope(&mut self, scope: &Identifier) -> Result<(), DomainError> {
        Ok(self.rendezvous.remove_scope(scope)?)
    }

    /// A node has an item now.
    ///
    /// # Errors
    /// No such node, or as [`Rendezvous::publish`].
    pub fn publish(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        self.check_node(node)?;
        let orders = self.rendezvous.publish(item, node)?;
        Ok(self.carry_out(orders))
    }

    /// A node has an item no longer.
    ///
    /// # Errors
    /// As [`Rendezvous::unpublish`].
    pub fn unpublish(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        let orders = self.rendezvous.unpublish(item, node)?;
        Ok(self.carry_out(orders))
    }

    /// A node wants an item.
    ///
    /// # Errors
    /// No such node, or as [`Rendezvous::subscribe`].
    pub fn subscribe(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        self.check_node(node)?;
        let order = self.rendezvous.subscribe(item, node)?;
        Ok(self.carry_out(order))
    }

    /// A node wants an item no longer.
    ///
    /// # Errors
    /// As [`Rendezvous::unsubscribe`].
    pub fn unsubscribe(&mut self, item: &Identifier, node: NodeId) -> Result<Vec<RequestId>, DomainError> {
        let order = self.rendezvous.unsubscribe(item, node)?;
        Ok(self.carry_out(order))
    }

    /// Takes a link down.
    ///
    /// # Errors
    /// There is no such link.
    pub fn fail(&mut self, link: LinkId) -> Result<Vec<RequestId>, DomainError> {
        Ok(self.manager.fail(link)?)
    }

    /// Takes a link up again.
    ///
    /// # Errors
    /// There is no such link.
    pub fn restore(&mut self, link: LinkId) -> Result<Vec<RequestId>, DomainError> {
        Ok(self.manager.restore(link)?)
    }

    fn check_node(&self, node: NodeId) -> Result<(), TopologyError> {
        let nodes = self.manager.network().nodes().len();
        if node.index() < nodes { Ok(()) } else { Err(TopologyError::UnknownNode { node: node.0, nodes }) }
    }

    /// Makes, changes or ends requests as ordered; those that are there after it.
    ///
    /// The manager refuses none: nodes and number of paths were checked, and an order names each publisher once and never
    /// the subscriber.
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
