//! The paths that a topology manager holds for one request.

use anabranch_core::{LinkId, Network, NodeId};

use super::{Kind, PathId, PathRecord};
use crate::filter::Filter;
use crate::identities::Identities;
use crate::selection::filter_of;

/// A path of a request, up or down.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub id: PathId,
    pub publisher: NodeId,
    pub links: Vec<LinkId>,
    /// The twins of the links, starting from the receiver; none if a link has no twin.
    pub back: Option<Vec<LinkId>>,
    /// Number of its links that are down, including those of the way back.
    pub down: u32,
    /// Group of the path while it is up.
    pub group: u32,
    forward: Option<Filter>,
    reverse: Option<Filter>,
}

impl Held {
    pub fn new(id: PathId, links: Vec<LinkId>, network: &Network, identities: &Identities) -> Self {
        let back: Option<Vec<LinkId>> = links.iter().rev().map(|&link| network.link(link).twin).collect();
        let forward = filter_of(network, identities, &links).ok();
        let reverse = back.as_ref().and_then(|back| filter_of(network, identities, back).ok());
        let publisher = network.link(links[0]).source;
        Self { id, publisher, links, back, down: 0, group: 0, forward, reverse }
    }

    /// The links that the path needs: its own, and those of its way back.
    pub fn needs(&self) -> impl Iterator<Item = LinkId> {
        self.links.iter().chain(self.back.iter().flatten()).copied()
    }

    pub fn is_up(&self) -> bool {
        self.down == 0
    }

    pub fn record(&self) -> PathRecord {
        PathRecord {
            path: self.id,
            publisher: self.publisher,
            links: self.links.clone(),
            back: self.back.clone(),
            group: self.group,
            forward: self.forward,
            reverse: self.reverse,
        }
    }
}

/// The receiver, the publishers and the paths of a request; paths are in the order of their ids.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub kind: Kind,
    pub receiver: NodeId,
    pub publishers: Vec<NodeId>,
    pub count: usize,
    pub paths: Vec<Held>,
}

impl Request {
    /// Index of a path among the others.
    pub fn place(&self, path: PathId) -> Option<usize> {
        self.paths.binary_search_by_key(&path, |held| held.id).ok()
    }

    pub fn up(&self) -> impl Iterator<Item = &Held> {
        self.paths.iter().filter(|held| held.is_up())
    }
}
