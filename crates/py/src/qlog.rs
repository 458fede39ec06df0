//! Logs of connections, for Python.

use std::path::PathBuf;
use std::sync::Arc;

use anabranch_live::qlog::Qlog;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// A folder with a log of each connection, in the format qlog.
#[pyclass(frozen, name = "Qlog", module = "anabranch._core")]
pub(crate) struct PyQlog(Arc<Qlog>);

impl PyQlog {
    /// The folder of an object that may be there.
    pub(crate) fn of(own: Option<&Self>) -> Option<Arc<Qlog>> {
        own.map(|own| own.0.clone())
    }
}

#[pymethods]
impl PyQlog {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        Qlog::new(&folder).map(Self).map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// Writes all that there is, and ends all files.
    fn finish(&self, py: Python<'_>) {
        py.detach(|| self.0.finish());
    }

    /// The first trouble of writing since the last call.
    fn trouble(&self) -> Option<String> {
        self.0.trouble()
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyQlog>()
}
