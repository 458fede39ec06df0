//! The parts of an agent that answers need.

use std::sync::Arc;

use anabranch_http::page::Page;
use anabranch_http::problem::Problem;
use anabranch_http::routes::Route;
use anabranch_http::{Answered, Front};
use hyper::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::events::Id;
use super::routes::ROUTES;
use crate::control::Control;
use crate::shown::Names;
use crate::topology::Topology;
use crate::watch::Watch;

/// The most streams of events at a time; the other connections are for what is short.
const MOST_STREAMS: usize = 128;

/// The most searches for paths at a time.
const MOST_SEARCHES: usize = 4;

/// The parts of an agent that answers need.
pub(crate) struct Site {
    control: Control,
    front: Front,
    page: Option<Page>,
    streams: Arc<Semaphore>,
    searches: Arc<Semaphore>,
}

/// What those may do who ask by a name that is none of the agent.
const HINT: &str = ", or add the name to `hosts` of `http` in its file";

impl Site {
    pub fn new(control: Control, hosts: Vec<String>, page: Option<&str>) -> Self {
        let [streams, searches] = [MOST_STREAMS, MOST_SEARCHES].map(|most| Arc::new(Semaphore::new(most)));
        let page = page.map(Page::new);
        let front = Front::new(hosts, HINT);
        Self { control, front, page, streams, searches }
    }

    pub(super) fn watch(&self) -> &Watch {
        self.control.watch()
    }

    pub(super) fn topology(&self) -> &Topology {
        self.control.topology()
    }

    pub(super) fn names(&self) -> &Names {
        self.control.names()
    }

    /// The numbers of answers, and of streams of events that are open.
    pub(super) fn answered(&self) -> (&Answered, usize) {
        (self.front.answered(), MOST_STREAMS - self.streams.available_permits())
    }

    /// The place after a change.
    pub(super) fn id(&self, change: u64) -> Id {
        // In milliseconds, so that it is whole and differs from one start to the next.
        Id { start: (self.watch().start_s() * 1e3) as u64, change }
    }

    /// The page.
    pub(super) fn page(&self) -> Option<&Page> {
        self.page.as_ref()
    }

    /// A turn for a stream of events.
    pub(super) fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("{MOST_STREAMS} streams of events are open, which is the most; ask /api/v1/changes");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        })
    }

    /// A turn for a search for paths.
    pub(super) fn search(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.searches.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("{MOST_SEARCHES} searches for paths go on, which is the most; ask again");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        })
    }
}

impl anabranch_http::Site for Site {
    const TITLE: &'static str = "anabranch agent";
    const DESCRIPTION: &'static str = "What an agent of anabranch shows: its sessions with their rates, what limits them, \
        its neighbours, its links and the network. Rates are in bit/s. Nothing can be changed.";
    const ROUTES: &'static [Route<Self>] = ROUTES;

    fn front(&self) -> &Front {
        &self.front
    }
}
