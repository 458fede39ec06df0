//! Logs of connections in the format qlog, a file for each connection [marx2025qlog, marx2025quic].
//!
//! Sessions and controllers put events into a queue, and a thread writes them, so that neither a slow nor a full disk holds up
//! a connection. The queue has a bound: events beyond it are dropped and counted, and the last record of a file says how many
//! are missing. Nothing is allocated for an event, and nothing is done where no log is kept.

mod connection;
mod queue;
mod record;
#[cfg(test)]
mod tests;
mod writer;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

pub(crate) use self::connection::{ConnectionLog, PathLog, Sample};
use self::queue::Queue;
pub(crate) use self::record::Vantage;
use self::writer::Writer;

/// The reason why no logs can be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot write logs into {}: {error}; name another folder by --qlog", folder.display())]
pub struct QlogError {
    /// The folder.
    folder: PathBuf,
    /// Error of the system.
    error: io::Error,
}

/// A folder with logs, which are written until this is dropped.
#[derive(Debug)]
pub struct Qlog {
    queue: Arc<Queue>,
    /// The first trouble of the writer.
    trouble: Arc<Mutex<Option<String>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Number of connections that were logged.
    count: AtomicU64,
}

impl Qlog {
    /// Begins to keep logs in a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be made, or no file in it.
    pub fn new(folder: &Path) -> Result<Arc<Self>, QlogError> {
        let failed = |error| QlogError { folder: folder.to_owned(), error };
        try_out(folder).map_err(failed)?;
        let (queue, trouble) = (Arc::<Queue>::default(), Arc::<Mutex<Option<String>>>::default());
        let writer = Writer::new(folder.to_owned(), trouble.clone());
        let own = queue.clone();
        let thread = std::thread::Builder::new().name("anabranch-qlog".to_owned());
        let thread = thread.spawn(move || writer.run(&own)).map_err(failed)?;
        Ok(Arc::new(Self { queue, trouble, writer: Mutex::new(Some(thread)), count: AtomicU64::new(0) }))
    }

    /// Writes all that there is, and ends all files.
    pub fn finish(&self) {
        self.queue.end();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic has been reported by its thread.
        let _ = writer.map(JoinHandle::join);
    }

    /// Takes the first trouble of writing since the last call, for readers.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The number of the next connection.
    fn next(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }
}

impl Drop for Qlog {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Makes a folder, and a file in it that is removed again.
fn try_out(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let file = folder.join(format!(".anabranch-{}", std::process::id()));
    fs::File::create(&file)?;
    fs::remove_file(file)
}
