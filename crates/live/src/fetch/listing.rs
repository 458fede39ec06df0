//! The list of the files that a sharer has.

use std::path::Path;
use std::time::Duration;

use anabranch_transfer::listing::{Entry, ListingError, MOST_BYTES, decode};
use anabranch_transfer::{Answer, Request};
use thiserror::Error;
use tokio::time::timeout;

use crate::connect::{ClientSession, Target};
use crate::control::{Unsuited, named};
use crate::messages::{AskError, ask, is_wrong_service};
use crate::session::{Application, SessionError};
use crate::url::Url;

/// The longest time for a list to arrive.
const LIST_TIME: Duration = Duration::from_mins(1);

/// The reason why there is no list.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum ListError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    #[error("{0}")]
    Ask(#[from] AskError),
    #[error("{0}")]
    Listing(#[from] ListingError),
    #[error("this is `anabranch perf --serve`, which has no files; measure with it by `anabranch perf`")]
    Perf,
    #[error("its list of files did not arrive within {} s", LIST_TIME.as_secs())]
    Slow,
}

/// The names and sizes of all files that a sharer has.
///
/// # Errors
/// If it cannot be reached, or does not list them.
pub async fn list(url: &Url, authorities: Option<&Path>, via: &[String]) -> Result<Vec<Entry>, ListError> {
    let protocol = named("lia")?;
    let target = Target {
        url,
        authorities,
        identity: None,
        qlog: None,
        via,
        backup: &[],
        protocol: &protocol,
        application: Application::default(),
    };
    let ClientSession { session, .. } = target.connect().await?;
    let listing = async {
        let (Answer::Follows, mut stream) = ask(session.connection(), &Request::List).await? else {
            return Err(AskError::Other.into());
        };
        let mut bytes = Vec::new();
        while let Some(piece) = stream.read_chunk(MOST_BYTES).await.map_err(|error| AskError::Read(error.into()))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MOST_BYTES {
                return Err(ListingError::TooLong.into());
            }
        }
        Ok(decode(&bytes)?)
    };
    let listed = timeout(LIST_TIME, listing).await.map_err(|_| ListError::Slow)?;
    if listed.is_err() && is_wrong_service(session.connection()) { Err(ListError::Perf) } else { listed }
}
