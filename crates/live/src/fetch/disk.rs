//! The disk behind a fetch: a thread that writes what was verified.
//!
//! It brings what it has written to the disk whenever nothing more waits for it. While the disk is at that, more gathers and
//! goes with the next: the faster chunks come, the more of them share one wait.

use anabranch_transfer::digests::chunk_bytes;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::store::{Store, StoreError};

/// The most bytes that wait for the disk, or are written and not yet on it; two chunks at least.
const MOST_WAITING: u64 = 32 << 20;

/// A chunk that is to be written.
struct Write {
    chunk: u32,
    offset: u64,
    bytes: Vec<u8>,
}

/// The thread, and the way to it.
pub struct Disk(Option<Running>);

struct Running {
    writes: mpsc::Sender<Write>,
    thread: JoinHandle<Result<Store, StoreError>>,
}

/// Writes until nothing more can come.
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
    /// The disk under a file of `size` bytes.
    pub fn new(store: Store, size: u64) -> Self {
        let most = (MOST_WAITING / chunk_bytes(size)).max(2) as usize;
        let (writes, receiver) = mpsc::channel(most);
        let thread = spawn_blocking(move || run(store, receiver, most));
        Self(Some(Running { writes, thread }))
    }

    /// No disk: there is nothing to write.
    pub fn none() -> Self {
        Self(None)
    }

    /// Writes a chunk that was verified; waits while too much waits.
    ///
    /// # Errors
    /// If the disk has refused.
    pub async fn write(&mut self, chunk: u32, offset: u64, bytes: Vec<u8>) -> Result<(), StoreError> {
        let Some(running) = &mut self.0 else { return Ok(()) };
        match running.writes.send(Write { chunk, offset, bytes }).await {
            Ok(()) => Ok(()),
            Err(_) => self.end(false).await,
        }
    }

    /// Brings to the disk what has come; if the file is whole, it takes its name.
    ///
    /// # Errors
    /// If the disk refuses, or did so before.
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
