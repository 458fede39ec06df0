//! A rendezvous against lists of who said what; a domain, whose requests are those that are matched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anabranch_core::generate::{LinkKind, grid};
use anabranch_core::paths::Sharing;
use anabranch_core::{LinkId, NodeId, Rate, Span};
use anabranch_psi::{Domain, Identifier, Identities, IdentityParameters, PathOrder, Rendezvous, TopologyManager};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Event {
    AddScope(Vec<u64>),
    RemoveScope(Vec<u64>),
    Publish(Vec<u64>, u32),
    Unpublish(Vec<u64>, u32),
    Subscribe(Vec<u64>, u32),
    Unsubscribe(Vec<u64>, u32),
}

/// Few identifiers and nodes, so that events meet; half of all say who has or wants what.
fn event() -> impl Strategy<Value = Event> {
    let id = || prop::collection::vec(0u64..2, 0..4);
    let node = || 0u32..4;
    prop_oneof![
        id().prop_map(Event::AddScope),
        id().prop_map(Event::RemoveScope),
        (id(), node()).prop_map(|(id, node)| Event::Publish(id, node)),
        (id(), node()).prop_map(|(id, node)| Event::Publish(id, node)),
        (id(), node()).prop_map(|(id, node)| Event::Unpublish(id, node)),
        (id(), node()).prop_map(|(id, node)| Event::Subscribe(id, node)),
        (id(), node()).prop_map(|(id, node)| Event::Subscribe(id, node)),
        (id(), node()).prop_map(|(id, node)| Event::Unsubscribe(id, node)),
    ]
}

/// For each item and subscriber those who have the item.
type Matches = BTreeMap<(Vec<u64>, u32), Vec<u32>>;

/// Lists of all that is said, without any structure.
#[derive(Default)]
struct Naive {
    scopes: Vec<Vec<u64>>,
    published: BTreeSet<(Vec<u64>, u32)>,
    subscribed: BTreeSet<(Vec<u64>, u32)>,
}

impl Naive {
    fn is_item(&self, id: &[u64]) -> bool {
        self.published.iter().chain(&self.subscribed).any(|(item, _)| item == id)
    }

    fn is_scope(&self, id: &[u64]) -> bool {
        id.is_empty() || self.scopes.iter().any(|scope| scope == id)
    }

    fn may_lie(&self, id: &[u64]) -> bool {
        id.split_last().is_some_and(|(_, scope)| self.is_scope(scope))
    }

    /// Whether the event is allowed; it is taken in if so.
    fn take(&mut self, event: &Event) -> bool {
        let may_be_item = |id: &[u64]| self.may_lie(id) && !self.is_scope(id);
        match event.clone() {
            Event::AddScope(id) => {
                let allowed = self.may_lie(&id) && !self.is_scope(&id) && !self.is_item(&id);
                if allowed {
                    self.scopes.push(id);
                }
                allowed
            }
            Event::RemoveScope(id) => {
                let items = self.published.iter().chain(&self.subscribed).map(|(item, _)| item);
                let holds = items.chain(&self.scopes).any(|inner| inner.len() > id.len() && inner.starts_with(&id));
                let allowed = !id.is_empty() && self.is_scope(&id) && !holds;
                if allowed {
                    self.scopes.retain(|scope| *scope != id);
                }
                allowed
            }
            Event::Publish(id, node) => may_be_item(&id) && self.published.insert((id, node)),
            Event::Unpublish(id, node) => self.published.remove(&(id, node)),
            Event::Subscribe(id, node) => may_be_item(&id) && self.subscribed.insert((id, node)),
            Event::Unsubscribe(id, node) => self.subscribed.remove(&(id, node)),
        }
    }

    fn matches(&self) -> Matches {
        let mut matches = Matches::new();
        for (item, subscriber) in &self.subscribed {
            let others = self.published.iter().filter(|(other, node)| other == item && node != subscriber);
            let publishers: Vec<u32> = others.map(|&(_, node)| node).collect();
            if !publishers.is_empty() {
                matches.insert((item.clone(), *subscriber), publishers);
            }
        }
        matches
    }
}

/// The orders of an event, or none if it was refused.
fn orders(rendezvous: &mut Rendezvous, event: Event) -> Option<Vec<PathOrder>> {
    let one = |order: Option<PathOrder>| order.into_iter().collect::<Vec<_>>();
    match event {
        Event::AddScope(id) => rendezvous.add_scope(&Identifier(id)).ok().map(|()| Vec::new()),
        Event::RemoveScope(id) => rendezvous.remove_scope(&Identifier(id)).ok().map(|()| Vec::new()),
        Event::Publish(id, node) => rendezvous.publish(&Identifier(id), NodeId(node)).ok(),
        Event::Unpublish(id, node) => rendezvous.unpublish(&Identifier(id), NodeId(node)).ok(),
        Event::Subscribe(id, node) => rendezvous.subscribe(&Identifier(id), NodeId(node)).ok().map(one),
        Event::Unsubscribe(id, node) => rendezvous.unsubscribe(&Identifier(id), NodeId(node)).ok().map(one),
    }
}

fn domain() -> Domain {
    let network = grid(3, 3, false, LinkKind { capacity: Rate(1e9), delay: Span(0) }).unwrap();
    let identities = Identities::new(network.links().len(), IdentityParameters::default()).unwrap();
    let manager = TopologyManager::new(Arc::new(network), Arc::new(identities), Sharing::Links, &[]).unwrap();
    Domain::new(manager, 2).unwrap()
}

fn is_taken(domain: &mut Domain, event: Event) -> bool {
    match event {
        Event::AddScope(id) => domain.add_scope(&Identifier(id)).is_ok(),
        Event::RemoveScope(id) => domain.remove_scope(&Identifier(id)).is_ok(),
        Event::Publish(id, node) => domain.publish(&Identifier(id), NodeId(node)).is_ok(),
        Event::Unpublish(id, node) => domain.unpublish(&Identifier(id), NodeId(node)).is_ok(),
        Event::Subscribe(id, node) => domain.subscribe(&Identifier(id), NodeId(node)).is_ok(),
        Event::Unsubscribe(id, node) => domain.unsubscribe(&Identifier(id), NodeId(node)).is_ok(),
    }
}

proptest! {
    #[test]
    fn orders_keep_up_with_who_has_and_wants_what(events in prop::collection::vec(event(), 0..80)) {
        let (mut rendezvous, mut naive) = (Rendezvous::new(), Naive::default());
        let mut ordered = Matches::new();
        for event in events {
            let given = orders(&mut rendezvous, event.clone());
            prop_assert_eq!(given.is_some(), naive.take(&event), "{:?}", event);
            for PathOrder { item, subscriber, publishers } in given.into_iter().flatten() {
                let (key, publishers) = ((item.0, subscriber.0), publishers.iter().map(|n| n.0).collect::<Vec<_>>());
                // Each order says something new.
                let before = if publishers.is_empty() {
                    ordered.remove(&key)
                } else {
                    ordered.insert(key, publishers.clone())
                };
                prop_assert_ne!(before.unwrap_or_default(), publishers);
            }
            prop_assert_eq!(&ordered, &naive.matches());
        }
    }

    #[test]
    fn a_domain_has_paths_from_all_who_have_what_is_wanted(events in prop::collection::vec(event(), 0..60)) {
        let (mut domain, mut naive) = (domain(), Naive::default());
        for event in events {
            let before = format!("{domain:?}");
            let taken = is_taken(&mut domain, event.clone());
            prop_assert_eq!(taken, naive.take(&event));
            prop_assert!(taken || before == format!("{domain:?}"), "{event:?} was refused and changed something");
            let matches = naive.matches();
            prop_assert_eq!(domain.manager().requests().count(), matches.len());
            for ((item, subscriber), publishers) in matches {
                let request = domain.request_of(&Identifier(item), NodeId(subscriber)).unwrap();
                let records = domain.manager().records(request).unwrap();
                let from: BTreeSet<u32> = records.iter().map(|record| record.publisher.0).collect();
                prop_assert_eq!(from.into_iter().collect::<Vec<_>>(), publishers);
            }
        }
    }
}

#[test]
fn a_domain_tells_whose_paths_changed() {
    // A grid of 3 by 3 nodes: 4 is the middle. Node 0 has the item, 8 and 1 want it.
    let mut domain = domain();
    let item = Identifier(vec![7]);
    assert_eq!(domain.publish(&item, NodeId(0)), Ok(vec![]));
    let far = domain.subscribe(&item, NodeId(8)).unwrap();
    let near = domain.subscribe(&item, NodeId(1)).unwrap();
    let network = Arc::clone(domain.manager().network());
    let link = network.links_from(NodeId(0))[0];
    let all = [far.clone(), near.clone()].concat();
    assert_eq!(domain.fail(link), Ok(all.clone()));
    assert_eq!(domain.restore(link), Ok(all.clone()));
    assert_eq!(domain.publish(&item, NodeId(4)), Ok(all));
    assert_eq!(domain.unsubscribe(&item, NodeId(1)), Ok(vec![]));
    assert_eq!(domain.request_of(&item, NodeId(1)), None);
    assert_eq!(domain.unpublish(&item, NodeId(0)), Ok(far));
}

#[test]
fn a_domain_refuses_nodes_and_links_that_are_not_there_and_changes_nothing() {
    let mut domain = domain();
    let item = Identifier(vec![7]);
    domain.publish(&item, NodeId(0)).unwrap();
    let before = format!("{domain:?}");
    let (node, link) = (NodeId(99), LinkId(999));
    for refused in [domain.publish(&item, node), domain.subscribe(&item, node)] {
        assert!(refused.unwrap_err().to_string().contains("no node number 99"));
    }
    for refused in [domain.fail(link), domain.restore(link)] {
        assert!(refused.unwrap_err().to_string().contains("no link number 999"));
    }
    assert_eq!(before, format!("{domain:?}"));
}
