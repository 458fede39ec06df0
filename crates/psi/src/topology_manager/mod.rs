//! The topology manager: it answers requests for paths, with the groups that share links [thomas2016, sec. III, IV-A].
//!
//! A request names a receiver and its publishers. Its paths are the k shortest loopless ones by hops from every
//! publisher [yen1971], or as many that share no link with others of their publisher. The record of each path contains its group and the filters that packets carry to follow it: the
//! forward filter from the publisher, and the reverse filter for the requests of the receiver. Groups cover all paths
//! of a request that are up, whichever the publisher.
//!
//! A path is up while all its links are up, and those of its way back, which are the twins of its links. Groups
//! consider only the links of the way forward, which the data take.
//!
//! When a link changes, only the requests with a path over it change: a list for each link leads to these, and only
//! their groups are computed anew. Methods that change paths return, in ascending order, the requests whose records
//! have changed, for the driver to inform their receivers.

mod error;
mod held;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use anabranch_core::paths::{GroupSearch, MOST_PATHS, Metric, Sharing, check_path, disjoint, k_shortest};
use anabranch_core::{ConnectionId, LinkId, Network, NodeId};

use crate::filter::Filter;
use crate::identities::Identities;
use held::{Held, Request};

pub use error::TopologyError;

/// The paths that a request wants from each publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The shortest ones by hops.
    #[default]
    Shortest,
    /// Those that share no link, of the fewest hops in total.
    Disjoint,
}

/// A request for paths; its number is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A path of a request; its number is never used again by any request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The record of a path that its receiver gets.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRecord {
    /// The path.
    pub path: PathId,
    /// The publisher, which is the source of the data.
    pub publisher: NodeId,
    /// The links from the publisher to the receiver.
    pub links: Vec<LinkId>,
    /// The twins of these links, from the receiver to the publisher; none if a link has no twin.
    pub back: Option<Vec<LinkId>>,
    /// Number of the group in the request, from 0. Paths of one group share links, directly or through other paths.
    pub group: u32,
    /// Filter of data packets; none if the path is too long for a filter.
    pub forward: Option<Filter>,
    /// Filter of requests for data; none without a way back, or if it is too long for a filter.
    pub reverse: Option<Filter>,
}

/// The paths of many requests on one network, maintained while links fail and return.
#[derive(Clone, Debug)]
pub struct TopologyManager {
    network: Arc<Network>,
    identities: Arc<Identities>,
    groups: GroupSearch,
    is_down: Vec<bool>,
    /// Number of links that are down.
    down: usize,
    requests: BTreeMap<RequestId, Request>,
    /// For each link the paths that need it, in the order of their ids.
    needed_by: Vec<Vec<(PathId, RequestId)>>,
    next_request: u64,
    next_path: u64,
}

impl TopologyManager {
    /// A manager without requests, with all links up; links in `without` do not count as shared.
    ///
    /// # Errors
    /// Returns an error for identities that were drawn for another number of links, or a link that does not exist.
    pub fn new(
        network: Arc<Network>,
        identities: Arc<Identities>,
        sharing: Sharing,
        without: &[LinkId],
    ) -> Result<Self, TopologyError> {
        let links = network.links().len();
        if identities.links() != links {
            return Err(TopologyError::Identities { identities: identities.links(), links });
        }
        without.iter().try_for_each(|&link| known(&network, link))?;
        let groups = GroupSearch::new(&network, sharing, without);
        let (is_down, needed_by) = (vec![false; links], vec![Vec::new(); links]);
        let requests = BTreeMap::new();
        Ok(Self { network, identities, groups, is_down, down: 0, requests, needed_by, next_request: 0, next_path: 0 })
    }

    /// The network.
    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// The identities that filters are made of.
    pub fn identities(&self) -> &Arc<Identities> {
        &self.identities
    }

    /// Whether `link` is down, which includes a link that does not exist.
    pub fn is_down(&self, link: LinkId) -> bool {
        self.is_down.get(link.index()).is_none_or(|&down| down)
    }

    /// Finds up to `count` paths from each of `publishers` to `receiver`, over links that are up.
    ///
    /// There may be no path. After a link returns, [`Self::find_again`] finds paths that have become shorter.
    ///
    /// # Errors
    /// Returns an error for nodes that do not exist or occur twice, or a count out of its range.
    pub fn request(
        &mut self,
        receiver: NodeId,
        publishers: &[NodeId],
        count: usize,
    ) -> Result<RequestId, TopologyError> {
        self.request_of(Kind::Shortest, receiver, publishers, count)
    }

    /// Finds up to `count` paths of a kind, as [`Self::request`] does for the shortest.
    ///
    /// # Errors
    /// Returns the errors of [`Self::request`].
    pub fn request_of(
        &mut self,
        kind: Kind,
        receiver: NodeId,
        publishers: &[NodeId],
        count: usize,
    ) -> Result<RequestId, TopologyError> {
        self.check_ends(receiver, publishers)?;
        if !(1..=MOST_PATHS).contains(&count) {
            return Err(TopologyError::Count(count));
        }
        let found = self.search(kind, receiver, publishers, count)?;
        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.requests.insert(id, Request { kind, receiver, publishers: publishers.to_vec(), count, paths: Vec::new() });
        for links in found {
            self.hold(id, links);
        }
        self.regroup(id);
        Ok(id)
    }

    /// Ends a request and removes its paths.
    ///
    /// # Errors
    /// Returns an error if there is no such request.
    pub fn end(&mut self, request: RequestId) -> Result<(), TopologyError> {
        let ended = self.requests.remove(&request).ok_or(TopologyError::UnknownRequest(request))?;
        for held in &ended.paths {
            self.release(held);
        }
        Ok(())
    }

    /// The present requests, in ascending order.
    pub fn requests(&self) -> impl Iterator<Item = RequestId> {
        self.requests.keys().copied()
    }

    /// The records of a request's paths that are up, in the order in which they were found or added.
    ///
    /// A search finds the paths of the first publisher first, and for each publisher the best path first. Paths of
    /// later publishers, of later searches and added paths come after earlier ones, whatever the present order of
    /// publishers.
    ///
    /// # Errors
    /// Returns an error if there is no such request.
    pub fn records(&self, request: RequestId) -> Result<Vec<PathRecord>, TopologyError> {
        Ok(self.of(request)?.up().map(Held::record).collect())
    }

    /// Takes a link down, and all paths that need it; no effect if it is down already.
    ///
    /// # Errors
    /// Returns an error if there is no such link.
    pub fn fail(&mut self, link: LinkId) -> Result<Vec<RequestId>, TopologyError> {
        self.turn(link, true)
    }

    /// Brings a link up, and the paths that only this link kept down; no effect if it is up already.
    ///
    /// # Errors
    /// Returns an error if there is no such link.
    pub fn restore(&mut self, link: LinkId) -> Result<Vec<RequestId>, TopologyError> {
        self.turn(link, false)
    }

    /// Adds a path that was found elsewhere, from one of the request's publishers.
    ///
    /// # Errors
    /// Returns an error if the path leads elsewhere, has a gap or a loop, or is already present.
    pub fn add_path(&mut self, request: RequestId, links: &[LinkId]) -> Result<PathId, TopologyError> {
        links.iter().try_for_each(|&link| known(&self.network, link))?;
        let asked = self.of(request)?;
        let begins = links.first().map_or(asked.publishers[0], |&link| self.network.link(link).source);
        check_path(&self.network, links, begins, asked.receiver, &format!("request {request}"))?;
        if !asked.publishers.contains(&begins) {
            let node = self.network.node(begins).name.clone();
            return Err(TopologyError::NotPublisher { request, node });
        }
        if let Some(held) = asked.paths.iter().find(|held| held.links == links) {
            return Err(TopologyError::RepeatedPath { request, path: held.id });
        }
        let path = PathId(self.next_path);
        self.hold(request, links.to_vec());
        self.regroup(request);
        Ok(path)
    }

    /// Removes a path.
    ///
    /// # Errors
    /// Returns an error if there is no such request, or the request has no such path.
    pub fn remove_path(&mut self, request: RequestId, path: PathId) -> Result<(), TopologyError> {
        self.of(request)?.place(path).ok_or(TopologyError::UnknownPath { request, path })?;
        self.drop_paths(request, |held| held.id != path);
        self.regroup(request);
        Ok(())
    }

    /// Replaces the publishers of a request: it keeps the paths of publishers that stay, and finds those of new ones.
    ///
    /// # Errors
    /// Returns an error in the cases that [`Self::request`] lists.
    pub fn set_publishers(&mut self, request: RequestId, publishers: &[NodeId]) -> Result<(), TopologyError> {
        let asked = self.of(request)?;
        let (kind, receiver, count) = (asked.kind, asked.receiver, asked.count);
        self.check_ends(receiver, publishers)?;
        let new: Vec<_> = publishers.iter().copied().filter(|node| !asked.publishers.contains(node)).collect();
        let found = self.search(kind, receiver, &new, count)?;
        self.drop_paths(request, |held| publishers.contains(&held.publisher));
        self.requests.get_mut(&request).expect("the request is there").publishers = publishers.to_vec();
        for links in found {
            self.hold(request, links);
        }
        self.regroup(request);
        Ok(())
    }

    /// Finds the paths of a request anew over the links that are up now; returns whether any path has changed.
    ///
    /// Paths that are found again keep their ids. The others are removed, including paths that are down and were added
    /// by hand.
    ///
    /// # Errors
    /// Returns an error if there is no such request.
    pub fn find_again(&mut self, request: RequestId) -> Result<bool, TopologyError> {
        let asked = self.of(request)?;
        let (kind, receiver, publishers, count) = (asked.kind, asked.receiver, asked.publishers.clone(), asked.count);
        let found = self.search(kind, receiver, &publishers, count)?;
        let before: HashSet<Vec<LinkId>> = self.of(request)?.paths.iter().map(|held| held.links.clone()).collect();
        let wanted: HashSet<&[LinkId]> = found.iter().map(Vec::as_slice).collect();
        let mut is_other = before.iter().any(|links| !wanted.contains(links.as_slice()));
        self.drop_paths(request, |held| wanted.contains(held.links.as_slice()));
        drop(wanted);
        for links in found {
            if !before.contains(&links) {
                self.hold(request, links);
                is_other = true;
            }
        }
        self.regroup(request);
        Ok(is_other)
    }

    fn of(&self, request: RequestId) -> Result<&Request, TopologyError> {
        self.requests.get(&request).ok_or(TopologyError::UnknownRequest(request))
    }

    fn check_ends(&self, receiver: NodeId, publishers: &[NodeId]) -> Result<(), TopologyError> {
        let nodes = self.network.nodes().len();
        let all = std::iter::once(receiver).chain(publishers.iter().copied());
        if let Some(node) = all.into_iter().find(|node| node.index() >= nodes) {
            return Err(TopologyError::UnknownNode { node: node.0, nodes });
        }
        let name = |node| self.network.node(node).name.clone();
        if publishers.is_empty() {
            return Err(TopologyError::NoPublisher(name(receiver)));
        }
        let mut seen = HashSet::new();
        for &node in publishers {
            if node == receiver {
                return Err(TopologyError::OwnPublisher(name(node)));
            }
            if !seen.insert(node) {
                return Err(TopologyError::RepeatedPublisher(name(node)));
            }
        }
        Ok(())
    }

    /// The paths from each publisher whose links are up, in both directions.
    fn search(
        &self,
        kind: Kind,
        receiver: NodeId,
        publishers: &[NodeId],
        count: usize,
    ) -> Result<Vec<Vec<LinkId>>, TopologyError> {
        let pairs: Vec<_> = publishers.iter().map(|&publisher| (publisher, receiver)).collect();
        let fails = |link: LinkId| {
            self.is_down[link.index()] || self.network.link(link).twin.is_some_and(|twin| self.is_down[twin.index()])
        };
        // A link that is down costs more than any loopless way around it, so that paths over such links come last.
        let detour = self.network.nodes().len() as f64 + 1.0;
        let cost = |link| if fails(LinkId::new(link)) { detour } else { 1.0 };
        let metric =
            if self.down == 0 { Metric::Hops } else { Metric::Given((0..self.is_down.len()).map(cost).collect()) };
        let found = match kind {
            Kind::Shortest => k_shortest(&self.network, &pairs, count, &metric, &|_| true)?,
            Kind::Disjoint => disjoint(&self.network, &pairs, count, &metric, &|_| true)?,
        };
        let own = |c| found.of(ConnectionId::new(c)).filter(|path| !path.iter().any(|&link| fails(link)));
        Ok((0..pairs.len()).flat_map(own).map(<[LinkId]>::to_vec).collect())
    }

    /// Adds a checked path as the last of its request.
    fn hold(&mut self, request: RequestId, links: Vec<LinkId>) {
        let mut held = Held::new(PathId(self.next_path), links, &self.network, &self.identities);
        self.next_path += 1;
        for link in held.needs() {
            self.needed_by[link.index()].push((held.id, request));
        }
        held.down = held.needs().filter(|link| self.is_down[link.index()]).count() as u32;
        self.requests.get_mut(&request).expect("the request is there").paths.push(held);
    }

    /// Removes a path from the lists of its links.
    fn release(&mut self, held: &Held) {
        for link in held.needs() {
            let list = &mut self.needed_by[link.index()];
            let place = list.binary_search_by_key(&held.id, |&(path, _)| path).expect("a link lists its paths");
            list.remove(place);
        }
    }

    fn drop_paths(&mut self, request: RequestId, keep: impl Fn(&Held) -> bool) {
        let asked = self.requests.get_mut(&request).expect("the request is there");
        let gone: Vec<Held> = asked.paths.extract_if(.., |held| !keep(held)).collect();
        for held in &gone {
            self.release(held);
        }
    }

    /// Takes a link down or up; returns the requests with a path that went down or came up.
    fn turn(&mut self, link: LinkId, down: bool) -> Result<Vec<RequestId>, TopologyError> {
        known(&self.network, link)?;
        if self.is_down[link.index()] == down {
            return Ok(Vec::new());
        }
        self.is_down[link.index()] = down;
        self.down = if down { self.down + 1 } else { self.down - 1 };
        let mut changed = BTreeSet::new();
        for &(path, request) in &self.needed_by[link.index()] {
            let asked = self.requests.get_mut(&request).expect("a link lists requests that are there");
            let place = asked.place(path).expect("a link lists paths that are there");
            let held = &mut asked.paths[place];
            let was_up = held.is_up();
            held.down = if down { held.down + 1 } else { held.down - 1 };
            if was_up != held.is_up() {
                changed.insert(request);
            }
        }
        for &request in &changed {
            self.regroup(request);
        }
        Ok(changed.into_iter().collect())
    }

    /// Computes the groups of a request anew.
    fn regroup(&mut self, request: RequestId) {
        let asked = self.requests.get_mut(&request).expect("the request is there");
        let groups = self.groups.groups(asked.up().map(|held| held.links.as_slice()));
        for (held, group) in asked.paths.iter_mut().filter(|held| held.is_up()).zip(groups) {
            held.group = group;
        }
    }
}

fn known(network: &Network, link: LinkId) -> Result<(), TopologyError> {
    let links = network.links().len();
    if link.index() < links { Ok(()) } else { Err(TopologyError::UnknownLink { link: link.0, links }) }
}
