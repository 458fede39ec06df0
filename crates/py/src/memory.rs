//! How much memory the process has, and a limit that long work keeps to.

use std::fs::read_to_string;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// The most bytes that the process may have in memory; no limit if 0.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Sets the most bytes that the process may have in memory while it does long work; none if 0.
#[pyfunction]
fn limit_memory(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// How many bytes the process has in memory, and how many addresses; `None` where the system does not tell.
#[pyfunction]
pub fn memory_in_use() -> Option<(u64, u64)> {
    // The pages of this are 4 kB on all machines but few, where both numbers come out too small and nothing is refused.
    let text = read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map_while(|pages| pages.parse::<u64>().ok());
    let (addresses, resident) = (pages.next()?, pages.next()?);
    Some((resident * 4096, addresses * 4096))
}

/// What is raised if the process is over its limit.
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
