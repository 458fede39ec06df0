//! The enforcer: it takes sessions and rates, and keeps the kernel to them from a thread.

use std::collections::BTreeMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anabranch_core::Rate;

use crate::counters::Counters;
use crate::error::EnforceError;
use crate::settings::{Device, Session, Setup};
use crate::sink::{Backend, Errors, Sink};
use crate::worker::Worker;

/// Keeps traffic to rates until it is stopped or dropped.
///
/// Calls can come from any thread. [`set_rates`](Self::set_rates) returns at once; the others wait for programs, so that an
/// asynchronous program calls them where it may block.
pub struct Enforcer {
    setup: Setup,
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

/// What is granted to the paths of sessions, and since when, by the names of these.
pub type Grants = BTreeMap<String, (Vec<Option<Rate>>, Instant)>;

/// What the worker is asked to do.
pub(crate) enum Request {
    Sessions(Vec<Session>, Grants, SyncSender<Result<(), EnforceError>>),
    Capacity(usize, Option<Rate>, SyncSender<Result<(), EnforceError>>),
    Counters(SyncSender<Result<Counters, EnforceError>>),
    Stop,
}

/// Rates and requests on their way to the worker. Of rates the last ones count, so the memory is that of the sessions.
#[derive(Default)]
pub(crate) struct Inbox {
    pub post: Mutex<Post>,
    pub arrived: Condvar,
}

#[derive(Default)]
pub(crate) struct Post {
    pub rates: BTreeMap<String, (Vec<Option<Rate>>, Instant)>,
    pub requests: Vec<Request>,
    /// The number of paths of each session.
    pub paths: BTreeMap<String, usize>,
}

impl Inbox {
    pub fn lock(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Enforcer {
    /// Sets devices up, without sessions. What an earlier run left is removed.
    ///
    /// # Errors
    /// Returns an error if a setting cannot be meant, a right, a program, a device or a part of the kernel is missing,
    /// somebody else shapes a device, or another enforcer runs. Nothing has been changed then, or it has been undone.
    pub fn start(setup: Setup, backend: Backend) -> Result<Self, EnforceError> {
        setup.check()?;
        let inbox = Arc::new(Inbox::default());
        let (tell, told) = sync_channel(1);
        let (own, box_of_worker) = (setup.clone(), inbox.clone());
        let work = move || {
            let errors = Arc::new(Mutex::new(Errors::default()));
            let begun = Sink::open(backend, &own, &errors)
                .and_then(|(sink, leaf)| Worker::begin(own, sink, leaf, box_of_worker, errors));
            match begun {
                Ok(worker) => {
                    let _ = tell.send(Ok(()));
                    worker.work();
                }
                Err(error) => drop(tell.send(Err(error))),
            }
        };
        let thread = thread::Builder::new().name("enforce".to_owned()).spawn(work);
        let thread = thread.map_err(|error| EnforceError::System(format!("there can be no thread: {error}")))?;
        told.recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Self { setup, inbox, thread: Some(thread) })
    }

    /// Takes these sessions instead of those before. A session of the same name keeps its connections, and paths that
    /// stay keep their rates. New paths begin at the floor, 64 kbit/s.
    ///
    /// # Errors
    /// Returns an error if a session cannot be meant or the kernel refuses it; the sessions before stay then.
    pub fn set_sessions(&self, sessions: &[Session]) -> Result<(), EnforceError> {
        self.set_sessions_at(sessions, &Grants::new())
    }

    /// Takes these sessions, with what is granted to them: new paths begin at these rates. One large packet that leaves at
    /// the floor would keep its path from sending for seconds, whatever is granted later.
    ///
    /// # Errors
    /// Returns an error if a session cannot be meant, has another number of paths than of rates, or the kernel refuses it;
    /// the sessions before stay then.
    pub fn set_sessions_at(&self, sessions: &[Session], grants: &Grants) -> Result<(), EnforceError> {
        self.setup.check_sessions(sessions)?;
        for Session { name, paths, .. } in sessions {
            if let Some((rates, _)) = grants.get(name).filter(|(rates, _)| rates.len() != paths.len()) {
                return Err(EnforceError::Paths { session: name.clone(), paths: paths.len(), rates: rates.len() });
            }
        }
        self.ask(|tell| Request::Sessions(sessions.to_vec(), grants.clone(), tell))
    }

    /// Takes what is granted to the paths of a session; `None` and 0 are paths that do not work. Repeat a rate before its
    /// lease ends, or it falls. The kernel follows after some milliseconds; of rates that follow one another faster, the
    /// last ones count.
    ///
    /// # Errors
    /// Returns an error if there is no such session, or it has another number of paths.
    pub fn set_rates(&self, session: &str, rates: &[Option<Rate>]) -> Result<(), EnforceError> {
        let mut post = self.inbox.lock();
        let paths = *post.paths.get(session).ok_or_else(|| EnforceError::NoSession(session.to_owned()))?;
        if paths != rates.len() {
            return Err(EnforceError::Paths { session: session.to_owned(), paths, rates: rates.len() });
        }
        post.rates.insert(session.to_owned(), (rates.to_vec(), Instant::now()));
        drop(post);
        self.inbox.arrived.notify_one();
        Ok(())
    }

    /// Takes another capacity of a device.
    ///
    /// # Errors
    /// Returns an error if there is no such device, the capacity cannot be meant, or the kernel refuses it.
    pub fn set_capacity(&self, device: &str, capacity: Option<Rate>) -> Result<(), EnforceError> {
        let place = self.setup.devices.iter().position(|known| known.name == device);
        let place = place.ok_or_else(|| EnforceError::Device(device.to_owned()))?;
        Device { name: device.to_owned(), capacity }.check()?;
        self.ask(|tell| Request::Capacity(place, capacity, tell))
    }

    /// What the kernel has counted.
    ///
    /// # Errors
    /// Returns an error if `tc` cannot be asked.
    pub fn counters(&self) -> Result<Counters, EnforceError> {
        self.ask(Request::Counters)
    }

    /// Removes everything that was set up. Devices get the queue discipline that the kernel gives to new ones.
    pub fn stop(mut self) {
        self.end();
    }

    fn ask<T>(&self, request: impl FnOnce(SyncSender<Result<T, EnforceError>>) -> Request) -> Result<T, EnforceError> {
        let (tell, told) = sync_channel(1);
        self.inbox.lock().requests.push(request(tell));
        self.inbox.arrived.notify_one();
        told.recv().unwrap_or_else(|_| Err(ended()))
    }

    fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.inbox.lock().requests.push(Request::Stop);
            self.inbox.arrived.notify_one();
            let _ = thread.join();
        }
    }
}

impl Drop for Enforcer {
    fn drop(&mut self) {
        self.end();
    }
}

fn ended() -> EnforceError {
    EnforceError::System("the thread that enforces rates has ended".to_owned())
}
