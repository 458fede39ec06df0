//! What threads share at a barrier; `tests/barrier.rs` puts loom's in the place of these.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub use std::thread::yield_now;
