//! What is to be fetched, what came of it, and why nothing did.

use std::path::PathBuf;
use std::time::Duration;

use anabranch_proto::Protocol;
use anabranch_transfer::{Name, Root};
use thiserror::Error;

use super::store::StoreError;
use crate::control::{Unsuited, check_groups};
use crate::url::Url;

/// Where a file is to be fetched from.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The sharer.
    pub url: Url,
    /// What the file is called there.
    pub name: Name,
    /// Which of the paths to all sources share links, by a number for each path to this one; empty if it is not known.
    pub groups: Vec<u32>,
}

/// What is to be fetched.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// From where, from all of these at once.
    pub sources: Vec<Wanted>,
    /// A file of certificates that those of the sharers are signed by, instead of fingerprints in the URLs.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces, a path over each; none for what the system chooses.
    pub via: Vec<String>,
    /// The protocol that controls the sharers' paths.
    pub protocol: Protocol,
    /// Where the file is to be.
    pub target: PathBuf,
    /// The hash that it has to have, if not one of the URLs says it; without any, all sharers have to have the same file.
    pub hash: Option<Root>,
    /// How long no sharer may be reached before the fetch is given up, and how long to wait for what each sharer has.
    pub patience: Duration,
}

/// A file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its hash.
    pub root: Root,
    /// Its bytes.
    pub size: u64,
    /// How many of them were there before.
    pub was_there: u64,
    /// For each source how many bytes it brought.
    pub brought: Vec<u64>,
}

/// Why a file was not fetched. What was verified is on the disk; the same fetch goes on from there.
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
    #[error("no source has it: {0}")]
    Refused(String),
    #[error("no source was reached for {} s: {why}; fetch it again to go on", patience.as_secs())]
    Unreachable { patience: Duration, why: String },
}

impl FetchRequest {
    /// The hash that the file has to have, as it was given or as the URLs say.
    ///
    /// # Errors
    /// If they say different things.
    pub fn hash(&self) -> Result<Option<Root>, FetchError> {
        let given = self.hash.map(|root| (format!("the hash {root} that was asked for"), root));
        let of_url = |source: &Wanted| {
            let root = source.url.hash?;
            Some((format!("the hash {root} in {}", source.url.place()), root))
        };
        let mut all = given.into_iter().chain(self.sources.iter().filter_map(of_url));
        let Some((first, root)) = all.next() else { return Ok(None) };
        match all.find(|(_, other)| *other != root) {
            Some((second, _)) => Err(FetchError::Contradiction { first, second }),
            None => Ok(Some(root)),
        }
    }

    /// Checks that the protocol goes by groups of paths, if there are any.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_groups(&self) -> Result<(), FetchError> {
        let is_grouped = self.sources.iter().any(|source| !source.groups.is_empty());
        if is_grouped { Ok(check_groups(&self.protocol)?) } else { Ok(()) }
    }

    /// How many paths there are to be to each source.
    pub(super) fn paths(&self) -> usize {
        self.via.len().max(1)
    }
}
