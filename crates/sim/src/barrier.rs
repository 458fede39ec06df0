//! A barrier at which threads wait for each other, thousands of times a second.

use std::num::NonZeroUsize;
use std::thread;

use super::atomic::{AtomicBool, AtomicUsize, Ordering, spin_loop, yield_now};

/// The number of times that a waiting thread looks before it yields its processor, if there is a processor for each
/// thread.
const SPINS: u32 = 4096;

/// Lets threads go on when all of them have come.
pub struct Barrier {
    threads: usize,
    spins: u32,
    waiting: AtomicUsize,
    round: AtomicUsize,
    is_broken: AtomicBool,
}

impl Barrier {
    /// Creates a barrier for a number of threads.
    pub fn new(threads: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let spins = if threads <= processors { SPINS } else { 0 };
        Self { threads, spins, waiting: zero(), round: zero(), is_broken: AtomicBool::new(false) }
    }

    /// Waits until all threads have come.
    ///
    /// # Panics
    /// Panics if another thread has panicked, since that thread will never come.
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

    /// Gives a guard that tells the other threads if this thread panics.
    pub fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }
}

/// A guard that breaks its barrier when it is dropped in a panic: then all threads that wait there panic too.
pub struct Alarm<'a>(&'a Barrier);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}
