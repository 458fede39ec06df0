//! The memory of the process, and a limit for long work.

use std::fs::read_to_string;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Greatest memory of the process in bytes; no limit if 0.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Sets the greatest memory of the process in bytes during long work; no limit if 0.
#[pyfunction]
fn limit_memory(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Bytes of the process in memory, and in its address space; `None` where the system does not report them.
#[pyfunction]
pub fn memory_in_use() -> Option<(u64, u64)> {
    // A page has 4 kB on nearly all machines. On the others both numbers come out too small and nothing is refused.
    let text = read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map_while(|pages| pages.parse::<u64>().ok());
    let (addresses, resident) = (pages.next()?, pages.next()?);
    Some((resident * 4096, addresses * 4096))
}

/// The exception to raise if the process exceeds its limit.
pub fn too_much() -> Option<PyErr> {
    let limit = LIMIT.load(Ordering::Relaxed);
    let (resident, _) = if limit > 0 { memory_in_use()? } else { return None };
    let message = || {
        format!(
            "it has taken {:.1} GB of memory by now, of {:.1} GB that it may take; make it smaller, or allow more (`--memory`)",
            resident as f64 / 1e9,
            limit as f64 / 1e9
        )
    };
    (resident > limit).then(|| PyMemoryError::new_err(message()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(limit_memory, module)?)?;
    module.add_function(wrap_pyfunction!(memory_in_use, module)?)
}
