//! Work on other threads, whose events the caller reads at any time.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

/// Number of threads for the work, besides the caller's.
const WORKERS: usize = 2;

/// The longest wait for connections to report their end.
const FAREWELL: Duration = Duration::from_millis(20);

/// The longest wait for threads to end, in which they still write received chunks.
const LEAVING: Duration = Duration::from_secs(2);

/// Sends the events of a running task.
#[derive(Debug)]
pub struct Events<E>(Sender<E>);

impl<E> Clone for Events<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E> Events<E> {
    /// Sends an event.
    pub fn tell(&self, event: E) {
        // A caller that no longer listens has dropped the work too.
        let _ = self.0.send(event);
    }
}

/// Work that runs on other threads until it is dropped.
#[derive(Debug)]
pub struct Running<E> {
    events: Receiver<E>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<E: Send + 'static> Running<E> {
    /// Starts work that sends events.
    ///
    /// # Errors
    /// If no thread can be created.
    pub fn start<F>(work: impl FnOnce(Events<E>) -> F) -> io::Result<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
        let ((sender, events), (stop, stopped)) = (channel(), oneshot::channel::<()>());
        let work = work(Events(sender));
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = work => {}
                    _ = stopped => {}
                }
                // Dropped connections report their end.
                tokio::time::sleep(FAREWELL).await;
            });
            runtime.shutdown_timeout(LEAVING);
        };
        let thread = std::thread::Builder::new().name("anabranch-live".to_owned()).spawn(run)?;
        Ok(Self { events, stop: Some(stop), thread: Some(thread) })
    }

    /// Waits for the next event; `None` if none comes within this time.
    pub fn wait(&self, most: Duration) -> Option<E> {
        self.events.recv_timeout(most).ok()
    }
}

impl<E> Drop for Running<E> {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by its thread.
            let _ = thread.join();
        }
    }
}
