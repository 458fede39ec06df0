//! A measurement or a server on threads of its own, for those who ask now and then what has happened.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use super::report::{Interval, Report};
use super::{PerfError, Plan, Service, measure, serve};
use crate::url::Url;

/// Threads that the work is done on, beside the one that asks.
const WORKERS: usize = 2;

/// How long connections that end may take to say so.
const FAREWELL: Duration = Duration::from_millis(20);

/// How long threads may take to end.
const LEAVING: Duration = Duration::from_millis(300);

/// What has happened.
#[derive(Debug)]
pub enum Event {
    /// The server is there.
    Serving(Url),
    /// It has served, or refused; a line that says what.
    Served(String),
    /// Some time of a measurement is over.
    Interval(Box<Interval>),
    /// The measurement is over.
    Measured(Box<Report>),
    /// It went wrong.
    Failed(PerfError),
}

/// Where to tell of events.
#[derive(Clone, Debug)]
pub struct Events(Sender<Event>);

impl Events {
    pub(super) fn tell(&self, event: Event) {
        // Who no longer listens will have dropped the rest too.
        let _ = self.0.send(event);
    }
}

/// What runs; it ends when it is dropped.
#[derive(Debug)]
pub struct Running {
    events: Receiver<Event>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Measures once.
    pub fn measure(plan: Plan) -> Result<Self, PerfError> {
        Self::start(|events| measure(plan, events))
    }

    /// Serves until it is dropped.
    pub fn serve(service: Service) -> Result<Self, PerfError> {
        Self::start(|events| serve(service, events))
    }

    fn start<F>(work: impl FnOnce(Events) -> F) -> Result<Self, PerfError>
    where
        F: Future<Output = Result<(), PerfError>> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .enable_all()
            .build()
            .map_err(PerfError::NoThreads)?;
        let ((sender, events), (stop, stopped)) = (channel(), oneshot::channel::<()>());
        let events_of_work = Events(sender);
        let work = work(events_of_work.clone());
        let thread = std::thread::spawn(move || {
            let task = async {
                tokio::select! {
                    done = work => if let Err(error) = done { events_of_work.tell(Event::Failed(error)); },
                    _ = stopped => {}
                }
                // Connections that were dropped say so.
                tokio::time::sleep(FAREWELL).await;
            };
            runtime.block_on(task);
            runtime.shutdown_timeout(LEAVING);
        });
        Ok(Self { events, stop: Some(stop), thread: Some(thread) })
    }

    /// What has happened next, within so long; `None` if nothing has.
    pub fn wait(&self, most: Duration) -> Option<Event> {
        match self.events.recv_timeout(most) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::Failed(PerfError::Ended("it is over".to_owned()))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It has said why, if it went wrong.
            let _ = thread.join();
        }
    }
}
