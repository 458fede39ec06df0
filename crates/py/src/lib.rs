//! The Python module `anabranch._core`: convert, call, convert back; no logic.

use pyo3::prelude::*;

mod fair;
mod network;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    network::register(module)?;
    fair::register(module)?;
    Ok(())
}
