//! The atomics of the barrier; `tests/barrier.rs` replaces them with those of loom.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub use std::thread::yield_now;
