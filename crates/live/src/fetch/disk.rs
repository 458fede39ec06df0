//! The disk of a fetch: a thread that writes verified chunks.
//!
//! It syncs written chunks to the disk whenever no more chunks wait. Chunks that arrive during a sync share the next
//! one: the faster chunks arrive, the more of them share one sync.

use anabranch_transfer::digests::chunk_bytes;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::store::{Store, StoreError};

/// The most bytes that wait to be written or synced; two chunks at least.
const MOST_WAITING: u64 = 32 << 20;

/// A chunk that is to be written.
struct Write {
    chunk: u32,
    offset: u64,
    bytes: Vec<u8>,
}

/// The writing thread, with its queue.
pub struct Disk(Option<Running>);

struct Running {
    writes: mpsc::Sender<Write>,
    thread: JoinHandle<Result<Store, StoreError>>,
}

/// Writes chunks until the queue closes.
fn run(mut store: Store, mut writes: mpsc::Receiver<Write>, most: usize) -> Result<Store, StoreError> {
    let mut batch = Vec::new();
    while writes.blocking_recv_many(&mut batch, most) > 0 {
        for Write { chunk, offset, bytes } in batch.drain(..) {
            store.write(chunk, offset, &bytes)?;
        }
        store.sync()?;
    }
    Ok(store)
}

impl Disk {
    /// Starts the thread for a file of `size` bytes.
    pub fn new(store: Store, size: u64) -> Self {
        let most = (MOST_WAITING / chunk_bytes(size)).max(2) as usize;
        let (writes, receiver) = mpsc::channel(most);
        let thread = spawn_blocking(move || run(store, receiver, most));
        Self(Some(Running { writes, thread }))
    }

    /// A disk for a file of which nothing remains to be written.
    pub fn none() -> Self {
        Self(None)
    }

    /// Queues a verified chunk to be written; waits while too many bytes wait.
    ///
    /// # Errors
    /// If the disk has failed.
    pub async fn write(&mut self, chunk: u32, offset: u64, bytes: Vec<u8>) -> Result<(), StoreError> {
        let Some(running) = &mut self.0 else { return Ok(()) };
        match running.writes.send(Write { chunk, offset, bytes }).await {
            Ok(()) => Ok(()),
            Err(_) => self.end(false).await,
        }
    }

    /// Syncs all chunks to the disk; if the file is whole, it gets its name.
    ///
    /// # Errors
    /// If the disk fails, or did so before.
    pub async fn end(&mut self, is_whole: bool) -> Result<(), StoreError> {
        let Some(Running { writes, thread }) = self.0.take() else { return Ok(()) };
        drop(writes);
        let store = thread.await.expect("the disk does not panic")?;
        if is_whole {
            spawn_blocking(move || store.finish()).await.expect("the disk does not panic")?;
        }
        Ok(())
    }
}
