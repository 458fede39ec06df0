//! The writer of logs, on a thread of its own.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;

use super::queue::Queue;
use super::record::{
    Begin, Entry, Metrics, Record, What, assigned, closed, congestion, header, lost, missing, started,
};

/// What begins a record of a sequence of JSON texts [rfc7464].
const SEPARATOR: u8 = 0x1e;

/// Writes entries of all connections into their files.
pub(super) struct Writer {
    folder: PathBuf,
    trouble: Arc<Mutex<Option<String>>>,
    /// The files of connections that have not ended. A connection whose file has failed has none.
    files: HashMap<u64, Trace>,
}

/// The file of a connection.
struct Trace {
    path: PathBuf,
    file: BufWriter<File>,
    /// The last metrics of each path.
    last: Vec<Metrics>,
    /// Time of the last entry.
    at: Duration,
    dropped: Arc<AtomicU64>,
}

impl Writer {
    /// A writer into a folder.
    pub(super) fn new(folder: PathBuf, trouble: Arc<Mutex<Option<String>>>) -> Self {
        Self { folder, trouble, files: HashMap::new() }
    }

    /// Writes until the queue ends.
    pub(super) fn run(mut self, queue: &Queue) {
        let mut entries = Vec::new();
        loop {
            let has_ended = queue.take(&mut entries);
            entries.drain(..).for_each(|entry| self.write(entry));
            let all: Vec<u64> = self.files.keys().copied().collect();
            if has_ended {
                for connection in all {
                    self.end(connection, None);
                }
                return;
            }
            for connection in all {
                self.on_file(connection, |trace| trace.file.flush());
            }
        }
    }

    fn write(&mut self, entry: Entry) {
        let (connection, at) = (entry.connection, entry.at);
        match entry.what {
            What::Begin(begin) => match self.begin(connection, &begin) {
                Ok(trace) => _ = self.files.insert(connection, trace),
                Err((path, error)) => self.complain(&path, &error),
            },
            What::Closed(why) => {
                let record = Record::new(at, None, "quic:connection_closed", closed(why.as_deref()));
                self.end(connection, Some((at, record)));
            }
            what => self.on_file(connection, |trace| trace.add(at, entry.path, &what)),
        }
    }

    /// Makes the file of a connection, under a name that no other has.
    fn begin(&self, connection: u64, begin: &Begin) -> Result<Trace, (PathBuf, io::Error)> {
        let ms = begin.time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let group = format!("{ms:x}-{:x}-{connection:x}", std::process::id());
        let path = self.folder.join(format!("{group}_{}.sqlog", begin.vantage.name()));
        let failed = |error| (path.clone(), error);
        let file = File::create_new(&path).map_err(failed)?;
        let mut trace = Trace {
            path: path.clone(),
            file: BufWriter::new(file),
            last: Vec::new(),
            at: Duration::ZERO,
            dropped: begin.dropped.clone(),
        };
        let record = Record::new(Duration::ZERO, None, "quic:connection_started", started(begin.remote));
        trace.put(&header(begin, &group)).and_then(|()| trace.put(&record)).map_err(failed)?;
        Ok(trace)
    }

    /// Ends the file of a connection with a record, if there is one, and with what is missing.
    fn end(&mut self, connection: u64, last: Option<(Duration, Record<serde_json::Value>)>) {
        self.on_file(connection, |trace| {
            if let Some((at, record)) = last {
                trace.at = at;
                trace.put(&record)?;
            }
            let (name, data) = missing(trace.dropped.load(Ordering::Relaxed));
            trace.put(&Record::new(trace.at, None, name, data))?;
            trace.file.flush()
        });
        self.files.remove(&connection);
    }

    /// Does something to the file of a connection, and gives it up if that fails.
    fn on_file(&mut self, connection: u64, act: impl FnOnce(&mut Trace) -> io::Result<()>) {
        let Some(trace) = self.files.get_mut(&connection) else { return };
        if let Err(error) = act(trace)
            && let Some(trace) = self.files.remove(&connection)
        {
            self.complain(&trace.path, &error);
            // What the buffer has cannot be written either.
            drop(trace.file.into_parts());
        }
    }

    fn complain(&self, path: &std::path::Path, error: &io::Error) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert_with(|| format!("the log {} ends early: {error}", path.display()));
    }
}

impl Trace {
    /// Adds an event.
    fn add(&mut self, at: Duration, path: Option<u32>, what: &What) -> io::Result<()> {
        self.at = at;
        match what {
            What::Assigned { local, remote } => {
                self.put(&Record::new(at, path, "quic:tuple_assigned", assigned(path, *local, *remote)))
            }
            What::Metrics(metrics) => {
                let place = path.unwrap_or_default() as usize;
                if self.last.len() <= place {
                    self.last.resize(place + 1, Metrics::default());
                }
                let news = metrics.since(&mut self.last[place]);
                if news == Metrics::default() {
                    return Ok(());
                }
                self.put(&Record::new(at, path, "quic:recovery_metrics_updated", news))
            }
            What::Congestion { is_recovery, trigger } => {
                let data = congestion(*is_recovery, *trigger);
                self.put(&Record::new(at, path, "quic:congestion_state_updated", data))
            }
            What::Lost { number } => self.put(&Record::new(at, path, "quic:packet_lost", lost(*number))),
            What::Begin(_) | What::Closed(_) => Ok(()),
        }
    }

    /// Writes a record.
    fn put(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.file.write_all(&[SEPARATOR])?;
        serde_json::to_writer(&mut self.file, record)?;
        self.file.write_all(b"\n")
    }
}
