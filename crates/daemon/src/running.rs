//! An agent that runs on threads of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::config::Config;
use crate::control::{Control, ReloadError};
use crate::feed::Reader;
use crate::log::{Level, lines};
use crate::service::{Daemon, DaemonError};

/// An agent that runs.
pub struct Running {
    runtime: Option<Runtime>,
    ended: Receiver<()>,
    control: Control,
    changes: Mutex<Reader>,
}

/// Why an agent has ended of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// It has run for as long as its clock can count.
    #[error("the agent has run for 180 days, which is as long as its clock counts; start it again")]
    Old,
    /// A part of it failed.
    #[error("a part of the agent has failed, which is a mistake in the program; what it said stands above")]
    Failed,
}

impl Running {
    /// Starts an agent, with the page that it shows by HTTP.
    ///
    /// # Errors
    /// Returns an error for a certificate, a folder or an address that cannot be used.
    pub fn start(config: Config, page: Option<Arc<str>>) -> Result<Self, DaemonError> {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(DaemonError::Threads)?;
        let daemon = runtime.block_on(Daemon::bind(config))?.with_page(page);
        let control = daemon.control();
        let changes = Mutex::new(control.watch().changes());
        let (tell, ended) = channel();
        runtime.spawn(async move {
            daemon.run().await;
            let _ = tell.send(());
        });
        Ok(Self { runtime: Some(runtime), ended, control, changes })
    }

    /// Waits for the end of the agent; why it has ended, if it has.
    pub fn wait(&self, most: Duration) -> Option<End> {
        match self.ended.recv_timeout(most) {
            Ok(()) => Some(End::Old),
            Err(RecvTimeoutError::Disconnected) => Some(End::Failed),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// What has happened since the last call, in words.
    pub fn log(&self) -> Vec<(Level, String)> {
        lines(&mut self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A handle to its parts.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Reads the file of the agent again.
    ///
    /// # Errors
    /// Returns an error if the new file cannot be used; the agent goes on with the old one.
    pub fn reload(&self) -> Result<(), ReloadError> {
        let _inside = self.runtime.as_ref().map(Runtime::enter);
        self.control.reload()
    }

    /// Makes ready to end; whether all sessions have left within `most`.
    pub fn drain(&self, most: Duration) -> bool {
        self.runtime.as_ref().is_none_or(|runtime| runtime.block_on(self.control.drain(most)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
}
