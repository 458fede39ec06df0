//! The request of a fetch, its result, and its errors.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anabranch_proto::Protocol;
use anabranch_transfer::{ChunksError, FileHash, Name, Pieces, Root};
use thiserror::Error;

use super::mirrors::Said;
use super::store::StoreError;
use crate::conditions::Present;
use crate::control::{Unsuited, check_groups};
use crate::qlog::Qlog;
use crate::security::SecurityError;
use crate::sockets::{SocketError, check_names};
use crate::url::Url;
use crate::web::WebUrl;

/// A source of a file: the sharer and the name of the file there.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// URL of the sharer.
    pub url: Url,
    /// Name of the file at the sharer.
    pub name: Name,
    /// Groups of the paths to this source, equal for paths to all sources that share links, and the most that it may
    /// send over all paths.
    pub conditions: Present,
}

/// The file to fetch, its sources, and how to reach them.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// Sharers of the file, which all send at once.
    pub sources: Vec<Wanted>,
    /// Web servers that have the file too, the best first.
    pub mirrors: Vec<WebUrl>,
    /// File of certificates that signed those of the sharers, instead of fingerprints in the URLs, or those of web
    /// servers.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces, with a path over each; empty if the system chooses.
    pub via: Vec<String>,
    /// Protocol that controls the paths of the sharers.
    pub protocol: Protocol,
    /// Path of the fetched file.
    pub target: PathBuf,
    /// Hashes of the file; without any, also in URLs, all sources must have the same file.
    pub hashes: Vec<FileHash>,
    /// Size of the file in bytes, if it is known.
    pub size: Option<u64>,
    /// Hashes of the pieces of the file, if they are known.
    pub pieces: Option<Pieces>,
    /// Time without a reachable sharer after which the fetch fails, and the longest wait for the hash of each sharer.
    pub patience: Duration,
    /// Where logs of the connections to sharers are kept, if they are.
    pub qlog: Option<Arc<Qlog>>,
}

/// The result of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Known hashes of the file.
    pub hashes: Vec<FileHash>,
    /// What shows that the file is right.
    pub proof: Proof,
    /// Size of the file in bytes.
    pub size: u64,
    /// Bytes that were on the disk before the fetch.
    pub was_there: u64,
    /// Bytes that each source brought: the sharers first.
    pub brought: Vec<u64>,
}

/// What shows that a fetched file is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The tree of a sharer, to each chunk; and these hashes to the whole.
    Tree(Vec<FileHash>),
    /// Hashes of pieces, to each piece; and these hashes to the whole.
    Pieces(Vec<FileHash>),
    /// These hashes, to the whole.
    Whole(Vec<FileHash>),
    /// Nothing.
    Nothing,
}

/// The reason why a fetch failed. Verified chunks, if any have come, are on the disk, and a repeated fetch continues from
/// there.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum FetchError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    #[error("{first} and {second} are of different files; a fetch is for one file, so one of them is wrong")]
    Contradiction { first: String, second: String },
    #[error(
        "the sharers have different files: {}; give the hash of the one that is wanted (`--hash`), or leave out the URLs \
         of the others",
        said.iter().map(|(place, root)| format!("{place} has that with hash {root}")).collect::<Vec<_>>().join(", ")
    )]
    Disagree { said: Vec<(String, Root)> },
    #[error(
        "the mirrors may have different files: {}; give the hash of the one that is wanted (`--hash sha256:...`), or leave \
         out the URLs of the others",
        said.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    MirrorsDisagree { said: Vec<Said> },
    #[error(transparent)]
    Security(#[from] SecurityError),
    #[error(transparent)]
    Chunks(#[from] ChunksError),
    #[error("no source can send it: {0}")]
    Refused(String),
    #[error(transparent)]
    Via(#[from] SocketError),
    #[error(
        "no source was reached for {} s: {why}; {}", patience.as_secs_f64(),
        if *has_some { "fetch it again to go on from here" } else {
            "nothing of the file has come, so see whether the server runs and the URL is right"
        }
    )]
    Unreachable { patience: Duration, why: String, has_some: bool },
}

impl FetchRequest {
    /// The hash that the file must have, given or from the URLs.
    ///
    /// # Errors
    /// If they differ.
    pub fn hash(&self) -> Result<Option<Root>, FetchError> {
        let roots = self.hashes.iter().filter_map(FileHash::root);
        let given = roots.map(|root| (format!("the hash {root} that was asked for"), root));
        let of_url = |source: &Wanted| {
            let root = source.url.hash?;
            Some((format!("the hash {root} in {}", source.url.place()), root))
        };
        let mut all = given.chain(self.sources.iter().filter_map(of_url));
        let Some((first, root)) = all.next() else { return Ok(None) };
        match all.find(|(_, other)| *other != root) {
            Some((second, _)) => Err(FetchError::Contradiction { first, second }),
            None => Ok(Some(root)),
        }
    }

    /// Checks that local addresses and interfaces exist, hashes do not contradict each other, and the protocol uses groups
    /// of paths if there are any.
    ///
    /// # Errors
    /// If they do not.
    pub fn check(&self) -> Result<(), FetchError> {
        check_names(&self.via)?;
        self.hash()?;
        let is_grouped = self.sources.iter().any(|source| !source.conditions.borrow().groups.is_empty());
        if is_grouped { Ok(check_groups(&self.protocol)?) } else { Ok(()) }
    }

    /// Number of expected paths to each source.
    pub(super) fn paths(&self) -> usize {
        self.via.len().max(1)
    }
}
