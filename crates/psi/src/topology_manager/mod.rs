//! The topology manager: who asks for paths gets them, with what they have in common [thomas2016, sec. III, IV-A].
//!
//! A request names a receiver and its publishers. Its paths are the k shortest loopless ones by hops from every
//! publisher [yen1971]. Each is answered with the group it belongs to and with the filters that packets carry to follow
//! it: forward from the publisher, and reverse for the requests of the receiver. Groups are over all paths of a
//! request that are up, whoever publishes.
//!
//! A path is up while all its links are, and those of its way back, which are the twins of its links. Groups are of the
//! links of the way forward, where the data go.
//!
//! What changes with a link are the requests with a path over it: a list for each link leads to these, and only their
//! groups are found anew. Every change gives the requests whose records are not what they were, in ascending order,
//! for the driver to tell their receivers.

mod error;
mod held;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use anabranch_core::paths::{GroupSearch, MOST_PATHS, Metric, Sharing, check_path, k_shortest};
use anabranch_core::{ConnectionId, LinkId, Network, NodeId};

use crate::filter::Filter;
use crate::identities::Identities;
use held::{Held, Request};

pub use error::TopologyError;

/// A request for paths; its number is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A path of a request; its number is never used again, by no request.
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

/// What a receiver is told of one path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRecord {
    /// Which path.
    pub path: PathId,
    /// Where the data come from.
    pub publisher: NodeId,
    /// The links from the publisher to the receiver.
    pub links: Vec<LinkId>,
    /// The twins of these, from the receiver to the publisher; none if some link has no twin.
    pub back: Option<Vec<LinkId>>,
    /// Paths of one group share links, directly or by others between them; from 0 on in each request.
    pub group: u32,
    /// What data carry; none if the path is too long for a filter.
    pub forward: Option<Filter>,
    /// What requests for data carry; none without a way back, or if it is too long for a filter.
    pub reverse: Option<Filter>,
}

/// Paths of many requests on one network, kept while links fail and return.
#[derive(Clone, Debug)]
pub struct TopologyManager {
    network: Arc<Network>,
    identities: Arc<Identities>,
    groups: GroupSearch,
    is_down: Vec<bool>,
    /// How many links are down.
    down: usize,
    requests: BTreeMap<RequestId, Request>,
    /// For each link the paths that need it, in the order of their ids.
    needed_by: Vec<Vec<(PathId, RequestId)>>,
    next_request: u64,
    next_path: u64,
}

impl TopologyManager {
    /// A manager without requests, all links up; links `without` count as shared by no paths.
    ///
    /// # Errors
    /// Identities that were drawn for another number of links, or a link that is not there.
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

    /// Whether `link` is down; a link that is not there is.
    pub fn is_down(&self, link: LinkId) -> bool {
        self.is_down.get(link.index()).is_none_or(|&down| down)
    }

    /// Finds up to `count` paths from each of `publishers` to `receiver`, over links that are up.
    ///
    /// There may be none, if there is no way. A path that could be better when a link returns is found by
    /// [`Self::find_again`].
    ///
    /// # Errors
    /// Nodes that are not there or stand twice, or a count out of its range.
    pub fn request(
        &mut self,
        receiver: NodeId,
        publishers: &[NodeId],
        count: usize,
    ) -> Result<RequestId, TopologyError> {
        self.check_ends(receiver, publishers)?;
        if !(1..=MOST_PATHS).contains(&count) {
            return Err(TopologyError::Count(count));
        }
        let found = self.search(receiver, publishers, count)?;
        let id = RequestId(self.next_request);
        self.next_request += 1;
        self.requests.insert(id, Request { receiver, publishers: publishers.to_vec(), count, paths: Vec::new() });
        for links in found {
            self.hold(id, links);
        }
        self.regroup(id);
        Ok(id)
    }

    /// Forgets a request and its paths.
    ///
    /// # Errors
    /// There is no such request.
    pub fn end(&mut self, request: RequestId) -> Result<(), TopologyError> {
        let ended = self.requests.remove(&request).ok_or(TopologyError::UnknownRequest(request))?;
        for held in &ended.paths {
            self.release(held);
        }
        Ok(())
    }

    /// The requests there are, in ascending order.
    pub fn requests(&self) -> impl Iterator<Item = RequestId> {
        self.requests.keys().copied()
    }

    /// The paths of a request that are up, in the order in which they were found or added.
    ///
    /// A search finds those of the first publisher first, and of each the best first; paths of later publishers, of later
    /// searches and those added stand behind the ones before, whatever the order of publishers is then.
    ///
    /// # Errors
    /// There is no such request.
    pub fn records(&self, request: RequestId) -> Result<Vec<PathRecord>, TopologyError> {
        Ok(self.of(request)?.up().map(Held::record).collect())
    }

    /// Takes a link down, and all paths that need it; nothing if it is down already.
    ///
    /// # Errors
    /// There is no such link.
    pub fn fail(&mut self, link: LinkId) -> Result<Vec<RequestId>, TopologyError> {
        self.turn(link, true)
    }

    /// Takes a link up again, and the paths that it was the last to keep down; nothing if it is up.
    ///
    /// # Errors
    /// There is no such link.
    pub fn restore(&mut self, link: LinkId) -> Result<Vec<RequestId>, TopologyError> {
        self.turn(link, false)
    }

    /// Adds a path that was found elsewhere, from one of the request's publishers.
    ///
    /// # Errors
    /// It leads elsewhere, has a gap or a loop, or is there already.
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

    /// Takes a path away.
    ///
    /// # Errors
    /// There is no such request, or it has no such path.
    pub fn remove_path(&mut self, request: RequestId, path: PathId) -> Result<(), TopologyError> {
        self.of(request)?.place(path).ok_or(TopologyError::UnknownPath { request, path })?;
        self.drop_paths(request, |held| held.id != path);
        self.regroup(request);
        Ok(())
    }

    /// Gives a request other publishers: paths of those that stay are kept, those of new ones are found.
    ///
    /// # Errors
    /// As for [`Self::request`].
    pub fn set_publishers(&mut self, request: RequestId, publishers: &[NodeId]) -> Result<(), TopologyError> {
        let asked = self.of(request)?;
        let (receiver, count) = (asked.receiver, asked.count);
        self.check_ends(receiver, publishers)?;
        let new: Vec<_> = publishers.iter().copied().filter(|node| !asked.publishers.contains(node)).collect();
        let found = self.search(receiver, &new, count)?;
        self.drop_paths(request, |held| publishers.contains(&held.publisher));
        self.requests.get_mut(&request).expect("the request is there").publishers = publishers.to_vec();
        for links in found {
            self.hold(request, links);
        }
        self.regroup(request);
        Ok(())
    }

    /// Finds the paths of a request anew over the links that are up now; whether any is another than before.
    ///
    /// Those found again keep their ids. The others go, those that are down and were added by hand among them.
    ///
    /// # Errors
    /// There is no such request.
    pub fn find_again(&mut self, request: RequestId) -> Result<bool, TopologyError> {
        let asked = self.of(request)?;
        let (receiver, publishers, count) = (asked.receiver, asked.publishers.clone(), asked.count);
        let found = self.search(receiver, &publishers, count)?;
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

    /// The shortest paths from each publisher whose links are up, there and back.
    fn search(&self, receiver: NodeId, publishers: &[NodeId], count: usize) -> Result<Vec<Vec<LinkId>>, TopologyError> {
        let pairs: Vec<_> = publishers.iter().map(|&publisher| (publisher, receiver)).collect();
        let fails = |link: LinkId| {
            self.is_down[link.index()] || self.network.link(link).twin.is_some_and(|twin| self.is_down[twin.index()])
        };
        // A link that is down costs more than any loopless way around it, so that paths over one come last.
        let detour = self.network.nodes().len() as f64 + 1.0;
        let cost = |link| if fails(LinkId::new(link)) { detour } else { 1.0 };
        let metric =
            if self.down == 0 { Metric::Hops } else { Metric::Given((0..self.is_down.len()).map(cost).collect()) };
        let found = k_shortest(&self.network, &pairs, count, &metric, &|_| true)?;
        let own = |c| found.of(ConnectionId::new(c)).take_while(|path| !path.iter().any(|&link| fails(link)));
        Ok((0..pairs.len()).flat_map(own).map(<[LinkId]>::to_vec).collect())
    }

    /// Takes a checked path in, as the last of its request.
    fn hold(&mut self, request: RequestId, links: Vec<LinkId>) {
        let mut held = Held::new(PathId(self.next_path), links, &self.network, &self.identities);
        self.next_path += 1;
        for link in held.needs() {
            self.needed_by[link.index()].push((held.id, request));
        }
        held.down = held.needs().filter(|link| self.is_down[link.index()]).count() as u32;
        self.requests.get_mut(&request).expect("the request is there").paths.push(held);
    }

    /// Takes a path out of the lists of its links.
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

    /// Takes a link down or up; the requests with a path that went or came.
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

    /// Finds the groups of a request anew.
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
