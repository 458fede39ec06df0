//! The start of a fetch: a task for each sharer, and for each mirror over each interface.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::agreement::Agreement;
use super::mirrors::{Known, Mirrors};
use super::source::{self, Common, Event};
use super::{Fetch, FetchError, FetchRequest, Progress, SourceStanding};
use crate::web::{Dialer, Tls};

/// The most mirrors that are connected at a time; the others take their places when they are lost or refused.
const MOST_MIRRORS: usize = 8;

/// The ways to web servers: one for each interface.
fn dialers(request: &FetchRequest) -> Result<Vec<Dialer>, FetchError> {
    if request.mirrors.is_empty() {
        return Ok(Vec::new());
    }
    let tls = Tls::trusting(request.authorities.as_deref())?;
    if request.via.is_empty() {
        return Ok(vec![Dialer { via: None, tls }]);
    }
    Ok(request.via.iter().map(|via| Dialer { via: Some(via.clone()), tls: tls.clone() }).collect())
}

impl Fetch {
    /// Starts the tasks of all sources.
    pub(super) fn start(
        request: FetchRequest,
        progress: Arc<Progress>,
        events: mpsc::Sender<Event>,
        tasks: &mut JoinSet<()>,
    ) -> Result<Self, FetchError> {
        let (given, dialers) = (request.hash()?, dialers(&request)?);
        let (sharers, mirrors) = (request.sources.len(), request.mirrors.len());
        let ways = |mirror| dialers.iter().map(move |dialer| (mirror, dialer.clone()));
        let lanes: Vec<(usize, Dialer)> = (0..mirrors).flat_map(ways).collect();
        let at_once = lanes.len().min(MOST_MIRRORS * dialers.len());
        let known = Known { size: request.size, has_hash: request.pieces.is_some() || !request.hashes.is_empty() };
        let (count, waits) = (sharers + lanes.len(), lanes.len());
        let is_awaited = (0..waits).map(|lane| lane < at_once).collect();
        let common = Arc::new(Common {
            request,
            lanes,
            room: Semaphore::new(at_once),
            believed: watch::Sender::new(given),
            digests: OnceLock::new(),
            is_there: watch::Sender::new(false),
            events,
        });
        let received: Vec<_> = (0..count).map(|_| (Arc::default(), 0, Instant::now())).collect();
        let fetch = Self {
            agreement: Agreement::new(given, sharers),
            mirrors: Mirrors::new(known, is_awaited),
            offers: (0..waits).map(|_| None).collect(),
            paths: (sharers..count)
                .map(|lane| progress.add_lane(common.shown(lane), Arc::clone(&received[lane].0)))
                .collect(),
            keepers: (0..count).map(|source| tasks.spawn(source::keep(source, Arc::clone(&common)))).collect(),
            sessions: vec![None; sharers],
            links: vec![None; count],
            standings: vec![SourceStanding::Awaited; count],
            refused: vec![None; count],
            received,
            round_trips: vec![0.0; count],
            start: Instant::now(),
            last_good: Instant::now(),
            under_way: HashMap::new(),
            transfers: tokio::task::JoinSet::new(),
            work: None,
            common,
            progress,
        };
        Ok(fetch)
    }
}
