//! The state of the topology manager and the rendezvous, and the searches for paths.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anabranch_core::paths::Sharing;
use anabranch_core::{LinkId, Network, NodeId};
use anabranch_psi::{Identities, IdentityParameters, RequestId, TopologyManager};
use tokio::sync::watch;

use super::items::Items;
use super::shown::{Answer, Item, ItemSource, PathShown, Source};
use super::wanted::{Search, Wanted};
use crate::directory::AskedFor;

/// The most requests of an application for paths or sources at a time, and of the programs of this machine.
const MOST_REQUESTS: (usize, usize) = (64, 512);

/// The most items of an application at a time, and of the programs of this machine.
const MOST_PUBLISHED: (usize, usize) = (256, 4096);

/// What all programs have asked.
pub(super) struct Work {
    /// By what paths of a group share: links, or nodes as well.
    managers: [TopologyManager; 2],
    items: Items,
    held: BTreeMap<u64, Held>,
    next: u64,
    /// Programs whose sources have changed since the last answer.
    changed: BTreeSet<u64>,
}

/// What a program has asked.
struct Held {
    application: Arc<str>,
    what: What,
    told: watch::Sender<Arc<str>>,
}

/// What is kept of it.
enum What {
    Paths { request: RequestId, nodes: bool },
    Find { item: String, to: NodeId, search: Search, from: Vec<NodeId>, request: Option<RequestId> },
    Source { item: String, node: NodeId, at: String },
}

impl Work {
    /// A network without requests.
    pub fn new(network: &Network) -> Self {
        let network = Arc::new(network.clone());
        let identities = Identities::new(network.links().len(), IdentityParameters::default());
        let identities = Arc::new(identities.expect("the usual identities serve every network"));
        let manager = |sharing| {
            let manager = TopologyManager::new(network.clone(), identities.clone(), sharing, &[]);
            manager.expect("there is an identity for each link")
        };
        let managers = [Sharing::Links, Sharing::Nodes].map(manager);
        Self { managers, items: Items::default(), held: BTreeMap::new(), next: 0, changed: BTreeSet::new() }
    }

    /// Takes what a program asks; its number, and what it is told.
    pub fn open(
        &mut self,
        application: &Arc<str>,
        wanted: &Wanted,
    ) -> Result<(u64, watch::Receiver<Arc<str>>), String> {
        self.check_count(application, matches!(wanted, Wanted::Publish(_)))?;
        let network = self.managers[0].network().clone();
        let number = self.next;
        let what = match wanted {
            Wanted::Paths(wanted) => {
                let (from, to) = wanted.ends(&network)?;
                let request = self.request(wanted.search(), to, &from)?;
                What::Paths { request, nodes: wanted.nodes }
            }
            Wanted::Find(wanted) => {
                let to = wanted.end(&network)?;
                let from = self.items.subscribe(&wanted.item, to, number);
                What::Find { item: wanted.item.clone(), to, search: wanted.search(), from, request: None }
            }
            Wanted::Publish(wanted) => {
                let (item, node, at) = (wanted.item.clone(), wanted.source(&network)?, wanted.at.clone());
                let orders = self.items.publish(&item, node, &at)?;
                self.take(orders, &item);
                What::Source { item, node, at }
            }
        };
        self.next += 1;
        let (told, hear) = watch::channel("".into());
        self.held.insert(number, Held { application: application.clone(), what, told });
        self.carry_out(number);
        self.tell(number);
        Ok((number, hear))
    }

    /// Ends what a program has asked.
    pub fn close(&mut self, number: u64) {
        let Some(held) = self.held.remove(&number) else { return };
        self.changed.remove(&number);
        // A request that is held is known to its manager.
        match held.what {
            What::Paths { request, nodes } => _ = self.managers[usize::from(nodes)].end(request),
            What::Find { item, to, search, request, .. } => {
                self.items.unsubscribe(&item, to, number);
                if let Some(request) = request {
                    let _ = self.managers[usize::from(search.nodes)].end(request);
                }
            }
            What::Source { item, node, at } => {
                let orders = self.items.unpublish(&item, node, &at);
                self.take(orders, &item);
            }
        }
    }

    /// Whether there is something that [`Self::update`] would tell, but for links.
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes the links that are down, and tells every program what has changed for it.
    pub fn update(&mut self, is_down: &[bool]) {
        let mut has_changed = false;
        for manager in &mut self.managers {
            for (place, &is_down) in is_down.iter().enumerate() {
                let link = LinkId::new(place);
                if is_down != manager.is_down(link) {
                    has_changed = true;
                    let turned = if is_down { manager.fail(link) } else { manager.restore(link) };
                    turned.expect("the link is of the network");
                }
            }
            if has_changed {
                for request in manager.requests().collect::<Vec<_>>() {
                    // A search among as many paths as before fails no more than that one did.
                    let _ = manager.find_again(request);
                }
            }
        }
        let changed = std::mem::take(&mut self.changed);
        for &number in &changed {
            self.carry_out(number);
        }
        let all: Vec<u64> =
            if has_changed { self.held.keys().copied().collect() } else { changed.into_iter().collect() };
        for number in all {
            self.tell(number);
        }
    }

    /// Numbers of what is asked.
    pub fn counts(&self) -> AskedFor {
        let (items, sources) = self.items.counts();
        let count = |is: fn(&What) -> bool| self.held.values().filter(|held| is(&held.what)).count();
        let finders = count(|what| matches!(what, What::Find { .. }));
        AskedFor { items, sources, finders, paths: count(|what| matches!(what, What::Paths { .. })) }
    }

    /// Number of published items, some of them after a name with their sources, and whether these are the last.
    pub fn items(&self, after: &str, most: usize) -> (usize, Vec<Item>, bool) {
        let network = self.managers[0].network();
        let mut names = self.items.after(after);
        let shown = |item: &str| {
            let source =
                |(node, at): (NodeId, &str)| ItemSource { node: network.node(node).name.clone(), at: at.into() };
            Item { item: item.to_owned(), sources: self.items.sources(item).map(source).collect() }
        };
        (self.items.counts().0, names.by_ref().take(most).map(shown).collect(), names.next().is_none())
    }

    fn check_count(&self, application: &str, is_source: bool) -> Result<(), String> {
        let is_as =
            |held: &&Held| *held.application == *application && matches!(held.what, What::Source { .. }) == is_source;
        let most = if is_source { MOST_PUBLISHED } else { MOST_REQUESTS };
        let most = if application.is_empty() { most.1 } else { most.0 };
        if self.held.values().filter(is_as).count() < most {
            return Ok(());
        }
        let what = if is_source { "published items" } else { "requests for paths and sources" };
        Err(format!("there are {most} {what} already, which is the most"))
    }

    fn request(&mut self, search: Search, to: NodeId, from: &[NodeId]) -> Result<RequestId, String> {
        let request = self.managers[usize::from(search.nodes)].request_of(search.kind, to, from, search.count);
        request.map_err(|error| error.to_string())
    }

    /// Takes the orders for an item whose sources have changed.
    fn take(&mut self, orders: Vec<super::items::Order>, item: &str) {
        for (number, nodes) in orders {
            if let Some(Held { what: What::Find { from, .. }, .. }) = self.held.get_mut(&number) {
                *from = nodes;
            }
        }
        self.changed.extend(self.items.finders(item));
    }

    /// Has paths from the present sources for a program.
    fn carry_out(&mut self, number: u64) {
        let Some(Held { what: What::Find { to, search, from, request, .. }, .. }) = self.held.get_mut(&number) else {
            return;
        };
        let manager = &mut self.managers[usize::from(search.nodes)];
        // Nodes and numbers were checked, and no node comes twice or is the end itself.
        match *request {
            Some(present) if from.is_empty() => {
                let _ = manager.end(present);
                *request = None;
            }
            Some(present) => _ = manager.set_publishers(present, from),
            None if from.is_empty() => {}
            None => *request = manager.request_of(search.kind, *to, from, search.count).ok(),
        }
    }

    /// Tells a program what it is to know, if that has changed.
    fn tell(&self, number: u64) {
        let Some(held) = self.held.get(&number) else { return };
        let answer = match &held.what {
            What::Paths { request, nodes } => Answer::Paths(self.paths(*request, *nodes)),
            What::Find { item, search, request, .. } => {
                let paths = request.map_or_else(Vec::new, |request| self.paths(request, search.nodes));
                let network = self.managers[0].network();
                let source = |(node, at): (NodeId, &str)| {
                    let node = network.node(node).name.clone();
                    let paths = paths.iter().filter(|path| path.from == node).cloned().collect();
                    Source { node, at: at.to_owned(), paths }
                };
                Answer::Sources(self.items.sources(item).map(source).collect())
            }
            What::Source { item, .. } => Answer::Published(item.clone()),
        };
        let text = serde_json::to_string(&answer).expect("it is plain data");
        held.told.send_if_modified(|told| {
            let is_other = **told != *text;
            if is_other {
                *told = text.into();
            }
            is_other
        });
    }

    /// The paths of a request that are up.
    fn paths(&self, request: RequestId, nodes: bool) -> Vec<PathShown> {
        let manager = &self.managers[usize::from(nodes)];
        let records = manager.records(request).unwrap_or_default();
        records.iter().map(|record| PathShown::of(record, manager.network())).collect()
    }
}
