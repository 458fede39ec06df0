//! The disk of a fetch: a thread that writes verified chunks.
//!
//! It syncs written chunks to the disk whenever no more chunks wait. Chunks that arrive during a sync share the next
//! one: the faster chunks arrive, the more of them share one sync.

use anabranch_transfer::FileHash;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::store::{Store, StoreError};
use crate::web::{Facts, WebUrl};

/// The most bytes that wait to be written or synced; two chunks at least.
const MOST_WAITING: u64 = 32 << 20;

/// The most chunks that wait, however small they are.
const MOST_WRITES: u64 = 4096;

/// What is to be written.
enum Write {
    /// A verified chunk.
    Chunk { chunk: u32, offset: u64, bytes: Vec<u8> },
    /// What a mirror says of the file.
    Mirror(WebUrl, Facts),
}

/// The writing thread, with its queue; or the hashes of a file of which nothing remained to be written.
pub struct Disk(State);

enum State {
    Writing(Running),
    Whole(Vec<FileHash>),
    /// It has failed or ended.
    Over,
}

struct Running {
    writes: mpsc::Sender<Write>,
    thread: JoinHandle<Result<Store, StoreError>>,
}

/// Writes chunks until the queue closes.
fn run(mut store: Store, mut writes: mpsc::Receiver<Write>, most: usize) -> Result<Store, StoreError> {
    let mut batch = Vec::new();
    while writes.blocking_recv_many(&mut batch, most) > 0 {
        for write in batch.drain(..) {
            match write {
                Write::Chunk { chunk, offset, bytes } => store.write(chunk, offset, &bytes)?,
                Write::Mirror(url, facts) => store.note(&url, &facts)?,
            }
        }
        store.sync()?;
    }
    Ok(store)
}

impl Disk {
    /// Starts the thread for a file with chunks of `chunk_bytes`.
    pub fn new(store: Store, chunk_bytes: u64) -> Self {
        let most = (MOST_WAITING / chunk_bytes).clamp(2, MOST_WRITES) as usize;
        let (writes, receiver) = mpsc::channel(most);
        let thread = spawn_blocking(move || run(store, receiver, most));
        Self(State::Writing(Running { writes, thread }))
    }

    /// A disk for a file of which nothing remains to be written, with its hashes.
    pub fn whole(hashes: Vec<FileHash>) -> Self {
        Self(State::Whole(hashes))
    }

    /// Queues a verified chunk to be written; waits while too many bytes wait.
    ///
    /// # Errors
    /// If the disk has failed.
    pub async fn write(&mut self, chunk: u32, offset: u64, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.queue(Write::Chunk { chunk, offset, bytes }).await
    }

    /// Queues what a mirror says of the file, to be kept before its chunks are listed.
    ///
    /// # Errors
    /// If the disk has failed.
    pub async fn note(&mut self, url: WebUrl, facts: Facts) -> Result<(), StoreError> {
        self.queue(Write::Mirror(url, facts)).await
    }

    async fn queue(&mut self, write: Write) -> Result<(), StoreError> {
        let State::Writing(running) = &self.0 else { return Ok(()) };
        match running.writes.send(write).await {
            Ok(()) => Ok(()),
            Err(_) => self.end(false).await.map(|_| ()),
        }
    }

    /// Syncs all chunks to the disk; if the file is whole, it gets its name. Returns its known hashes then.
    ///
    /// # Errors
    /// If the disk fails, or did so before, or the file has another hash than it must have.
    pub async fn end(&mut self, is_whole: bool) -> Result<Vec<FileHash>, StoreError> {
        let Running { writes, thread } = match std::mem::replace(&mut self.0, State::Over) {
            State::Writing(running) => running,
            State::Whole(hashes) => return Ok(hashes),
            State::Over => return Ok(Vec::new()),
        };
        drop(writes);
        let store = thread.await.expect("the disk does not panic")?;
        if !is_whole {
            return Ok(Vec::new());
        }
        spawn_blocking(move || store.finish()).await.expect("the disk does not panic")
    }
}
