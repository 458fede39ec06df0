//! Where threads wait for each other, thousands of times a second.

use std::num::NonZeroUsize;
use std::thread;

use super::atomic::{AtomicBool, AtomicUsize, Ordering, spin_loop, yield_now};

/// A thread looks so often whether it may go on before it lets others have the processor, if there is one for each.
const SPINS: u32 = 4096;

/// Lets threads on when all of them have come.
pub struct Barrier {
    threads: usize,
    spins: u32,
    waiting: AtomicUsize,
    round: AtomicUsize,
    is_broken: AtomicBool,
}

impl Barrier {
    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let spins = if threads <= processors { SPINS } else { 0 };
        Self { threads, spins, waiting: zero(), round: zero(), is_broken: AtomicBool::new(false) }
    }

    /// Waits until all threads have come.
    ///
    /// # Panics
    /// Another thread has, so that it will never come.
    pub fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.is_broken.load(Ordering::Relaxed), "another shard of the simulation has failed");
            if spins < self.spins {
                spins += 1;
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    /// Something that tells the others if this thread panics.
    pub fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }
}

/// See [`Barrier::alarm`].
pub struct Alarm<'a>(&'a Barrier);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}
