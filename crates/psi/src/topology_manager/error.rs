//! The errors of a topology manager.

use anabranch_core::PathError;
use anabranch_core::paths::{MOST_PATHS, SearchError};
use thiserror::Error;

use super::{PathId, RequestId};

/// An order to a topology manager that it cannot carry out; it has changed nothing.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum TopologyError {
    #[error("identities were drawn for {identities} links, and the network has {links}; draw them for this network")]
    Identities { identities: usize, links: usize },
    #[error("there is no request {0}; it was ended, or never made")]
    UnknownRequest(RequestId),
    #[error("request {request}: it has no path {path}; it was removed, or never found")]
    UnknownPath { request: RequestId, path: PathId },
    #[error("there is no node number {node}; the network has {nodes}")]
    UnknownNode { node: u32, nodes: usize },
    #[error("there is no link number {link}; the network has {links}")]
    UnknownLink { link: u32, links: usize },
    #[error("a request for {0} paths from each publisher; it must be 1 to {MOST_PATHS}")]
    Count(usize),
    #[error("a request of receiver `{0}` without a publisher; name one or more")]
    NoPublisher(String),
    #[error("publisher `{0}` stands twice in a request; name each once")]
    RepeatedPublisher(String),
    #[error("node `{0}` is receiver and publisher of one request; no path is needed there, leave it out")]
    OwnPublisher(String),
    #[error("request {request}: a path from `{node}`, which is no publisher of it; add it to the publishers first")]
    NotPublisher { request: RequestId, node: String },
    #[error("request {request}: it has this path already, as path {path}")]
    RepeatedPath { request: RequestId, path: PathId },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Search(#[from] SearchError),
}
