//! Paths between any nodes of the network, with the groups that share links, and items with their sources: the topology
//! manager and the rendezvous [thomas2016, sec. III], as far as the agent hears of links.
//!
//! A program writes a line. The agent answers with a line of JSON at once and after each change, for as long as the
//! program keeps its stream:
//!
//! ```text
//! paths {"to": "Nice", "from": ["Paris", "Lyon"], "count": 4}
//! {"paths": [{"from": "Paris", "links": ["Paris-Nice"], "back": ["Nice-Paris"], "group": 0, "forward": ..., ...}]}
//!
//! publish {"item": "videos/one", "node": "Paris", "at": "https://192.0.2.1/one"}
//! {"published": "videos/one"}
//!
//! find {"item": "videos/one", "to": "Nice"}
//! {"sources": [{"node": "Paris", "at": "https://192.0.2.1/one", "paths": [...]}]}
//! ```
//!
//! Filters are those of [`anabranch_psi::filter`], with identities that are the same at all agents of a network. Searches
//! run on a thread of their own, one after the other, so that they hold up nothing else.

mod items;
mod shown;
mod wanted;
mod work;

use std::sync::Arc;
use std::time::Duration;

use anabranch_core::Rate;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use self::work::Work;
use crate::directory::Directory;
use crate::shown::Names;

pub(crate) use self::shown::{Item, PathsShown};
pub(crate) use self::wanted::{Paths, Wanted};

/// Time for which changes are gathered.
const GATHER: Duration = Duration::from_millis(20);

/// Least time between two updates, least multiple of the time that the last one took, and greatest time.
const REST: (Duration, u32, Duration) = (Duration::from_millis(100), 4, Duration::from_secs(10));

/// A handle to what all programs have asked.
#[derive(Clone, Debug)]
pub(crate) struct Topology(mpsc::UnboundedSender<Command>);

/// What is done for programs. Each stream of a program sends few of them, so that their number is bounded by that.
enum Command {
    Open(Arc<str>, Wanted, oneshot::Sender<Result<Asked, String>>),
    Close(u64),
    Items(String, usize, oneshot::Sender<(usize, Vec<Item>, bool)>),
}

/// What a program has asked; it ends with this.
#[derive(Debug)]
pub(crate) struct Asked {
    number: u64,
    told: watch::Receiver<Arc<str>>,
    commands: mpsc::UnboundedSender<Command>,
    /// The time that the first search took.
    pub took: Duration,
}

impl Asked {
    /// What the program is told now, as JSON.
    pub fn now(&mut self) -> Arc<str> {
        self.told.borrow_and_update().clone()
    }

    /// What the program is told when it is something else; `None` if nothing more comes.
    pub async fn next(&mut self) -> Option<Arc<str>> {
        self.told.changed().await.ok()?;
        Some(self.now())
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // Where nobody listens any more, nothing is kept.
        let _ = self.commands.send(Command::Close(self.number));
    }
}

/// Why there is no answer.
const ENDED: &str = "the topology manager has ended; what it said stands in the log of the agent";

impl Topology {
    /// A handle, and what [`keep`] needs.
    pub fn new() -> (Self, Commands) {
        let (send, receive) = mpsc::unbounded_channel();
        (Self(send), Commands(receive))
    }

    /// Asks something for an application, or for a program of this machine, which has no name.
    ///
    /// # Errors
    /// Returns the reason why it cannot be.
    pub async fn ask(&self, application: &Arc<str>, wanted: Wanted) -> Result<Asked, String> {
        let (tell, told) = oneshot::channel();
        let sent = self.0.send(Command::Open(application.clone(), wanted, tell));
        sent.map_err(|_| ENDED.to_owned())?;
        told.await.map_err(|_| ENDED.to_owned())?
    }

    /// Number of published items, some of them after a name with their sources, and whether these are the last.
    pub async fn items(&self, after: String, most: usize) -> (usize, Vec<Item>, bool) {
        let (tell, told) = oneshot::channel();
        let _ = self.0.send(Command::Items(after, most, tell));
        told.await.unwrap_or_default()
    }
}

/// What programs ask of [`keep`].
pub(crate) struct Commands(mpsc::UnboundedReceiver<Command>);

/// Answers programs as long as the agent runs.
pub(crate) async fn keep(topology: Topology, commands: Commands, names: Names, directory: Directory) {
    let Commands(mut commands) = commands;
    let mut links = directory.links();
    let mut work = Work::new(names.network());
    let mut earliest = Instant::now();
    // Links may have gone before anybody looked.
    let mut due = Some(earliest);
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Open(application, wanted, reply)) => {
                    let (begun, asked) = (Instant::now(), application.clone());
                    let searched = spawn_blocking(move || (work.open(&asked, &wanted), work)).await;
                    let Ok((opened, searched)) = searched else { return };
                    work = searched;
                    let commands = topology.0.clone();
                    let took = begun.elapsed();
                    // Dropped where the program has gone, it is closed.
                    let _ = reply.send(opened.map(|(number, told)| Asked { number, told, commands, took }));
                }
                Some(Command::Close(number)) => work.close(number),
                Some(Command::Items(after, most, reply)) => _ = reply.send(work.items(&after, most)),
                None => return,
            },
            Ok(()) = links.changed() => due = due.or(Some((Instant::now() + GATHER).max(earliest))),
            () = sleep_until(due.unwrap_or(earliest)), if due.is_some() => {
                let (begun, is_down) = (Instant::now(), down(&names));
                let Ok(searched) = spawn_blocking(move || { work.update(&is_down); work }).await else { return };
                work = searched;
                let rest = (begun.elapsed() * REST.1).clamp(REST.0, REST.2);
                (due, earliest) = (None, Instant::now() + rest);
            }
        }
        if work.has_changed() {
            due = due.or(Some((Instant::now() + GATHER).max(earliest)));
        }
        directory.open().asked_for = work.counts();
    }
}

/// For each link whether it is down, as far as the agent has heard.
fn down(names: &Names) -> Vec<bool> {
    let capacities = names.capacities();
    let is_down = |name: &str| capacities.get(name).is_some_and(|&capacity| capacity <= Rate(0.0));
    names.network().links().iter().map(|link| is_down(&link.name)).collect()
}
