//! An agent that runs on threads of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::config::Config;
use crate::service::{Daemon, DaemonError};

/// An agent that runs.
pub struct Running {
    runtime: Option<Runtime>,
    ended: Receiver<()>,
}

impl Running {
    /// Starts an agent.
    ///
    /// # Errors
    /// Returns an error for a certificate, a folder or an address that cannot be used.
    pub fn start(config: Config) -> Result<Self, DaemonError> {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(DaemonError::Threads)?;
        let daemon = runtime.block_on(Daemon::bind(config))?;
        let (tell, ended) = channel();
        runtime.spawn(async move {
            daemon.run().await;
            let _ = tell.send(());
        });
        Ok(Self { runtime: Some(runtime), ended })
    }

    /// Waits until the agent has ended; whether it has.
    pub fn wait(&self, most: Duration) -> bool {
        !matches!(self.ended.recv_timeout(most), Err(RecvTimeoutError::Timeout))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
}
