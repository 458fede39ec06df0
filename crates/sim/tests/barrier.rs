//! Every order in which threads can meet at the barrier of a simulation, as loom finds them.
//!
//! The barrier is compiled anew here, with atomics that loom watches. A value that a thread could read as it was before the
//! barrier, in any of the orders that the memory model allows, fails a test. Two threads: of three, two may wait for each
//! other's turn without end, which loom cannot tell from a mistake.

#[path = "../src/barrier.rs"]
#[allow(dead_code)] // the alarm needs a panic, which loom takes for a failure
mod barrier;

mod atomic {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub use loom::thread::yield_now;
}

use std::sync::Arc;

use barrier::Barrier;
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::thread;

use crate::atomic::{AtomicBool, Ordering};

/// What threads of a simulation have in common: a place for each, and the barrier.
struct Common<T> {
    barrier: Barrier,
    own: Vec<T>,
}

/// Tries all orders of `threads` threads that do the same, each with its number.
fn all_orders<T: Send + Sync + 'static>(threads: usize, new: fn() -> T, act: fn(usize, &Common<T>)) {
    // So often the thread changes where it would not have to: more find no more in so few lines, and take hours.
    let mut bounds = Builder::new();
    bounds.preemption_bound = Some(2);
    bounds.check(move || {
        let common = Arc::new(Common { barrier: Barrier::new(threads), own: (0..threads).map(|_| new()).collect() });
        let others: Vec<_> = (1..threads)
            .map(|number| {
                let common = common.clone();
                thread::spawn(move || act(number, &common))
            })
            .collect();
        act(0, &common);
        for other in others {
            other.join().unwrap();
        }
    });
}

/// A place that only its owner writes to; loom fails if others could look at the same time.
struct Place(UnsafeCell<usize>);
// SAFETY: loom watches who looks at it when.
#[allow(unsafe_code)]
unsafe impl Sync for Place {}

/// Writes, meets, reads what all have written, meets; so twice, as windows of a simulation do.
fn exchange(number: usize, common: &Common<Place>) {
    for round in 1..=2 {
        // SAFETY: loom watches.
        #[allow(unsafe_code)]
        common.own[number].0.with_mut(|place| unsafe { *place = round });
        common.barrier.wait();
        for place in &common.own {
            #[allow(unsafe_code)]
            place.0.with(|place| assert_eq!(unsafe { *place }, round));
        }
        common.barrier.wait();
    }
}

#[test]
fn two_threads_read_after_the_barrier_what_was_written_before() {
    all_orders(2, || Place(UnsafeCell::new(0)), exchange);
}

/// Calls the run off at some time; all leave after the same window, since the first says so between two meetings.
fn leave(number: usize, common: &Common<[AtomicBool; 2]>) {
    let [is_called_off, is_over] = &common.own[0];
    let mut windows = 0;
    for window in 0..2 {
        if number == 1 && window == 0 {
            is_called_off.store(true, Ordering::Relaxed);
        }
        common.barrier.wait();
        if number == 0 {
            is_over.store(is_called_off.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        common.barrier.wait();
        windows += 1;
        if is_over.load(Ordering::Relaxed) {
            break;
        }
    }
    assert_eq!(windows, 1, "what was called off before the barrier is over behind it");
}

#[test]
fn two_threads_leave_after_the_same_window() {
    all_orders(2, || [AtomicBool::new(false), AtomicBool::new(false)], leave);
}
