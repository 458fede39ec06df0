//! Scenario files.

use std::sync::Arc;

use anabranch_scenario::{NetworkSource, Scenario};
use pyo3::prelude::*;

use crate::network::{PyDemands, PyNetwork, value_error};
use crate::paths::{PyPaths, watched};

/// A network's file, and the capacity in bit/s and the delay for links that have none in it.
type NetworkFile = (String, Option<f64>, Option<String>);

/// A scenario file that was read.
#[pyclass(frozen, name = "Scenario", module = "anabranch._core")]
struct PyScenario(Scenario);

#[pymethods]
impl PyScenario {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Scenario::parse(text).map(Self).map_err(value_error)
    }

    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    /// The network, if it stands in the scenario file.
    fn network(&self) -> PyResult<Option<PyNetwork>> {
        match self.0.network().map_err(value_error)? {
            NetworkSource::Inline(network) => Ok(Some(PyNetwork(Arc::new(network)))),
            NetworkSource::File(_) => Ok(None),
        }
    }

    /// File, capacity in bit/s and delay, if the network stands in a file of its own.
    fn network_file(&self) -> PyResult<Option<NetworkFile>> {
        match self.0.network().map_err(value_error)? {
            NetworkSource::Inline(_) => Ok(None),
            NetworkSource::File(f) => Ok(Some((f.file, f.capacity.map(|c| c.0.0), f.delay))),
        }
    }

    fn demands(&self, network: &PyNetwork) -> PyResult<PyDemands> {
        self.0.demands(&network.0).map(|d| PyDemands(Arc::new(d))).map_err(value_error)
    }

    /// Ctrl-C calls the search off.
    fn paths(&self, py: Python<'_>, network: &PyNetwork, demands: &PyDemands) -> PyResult<PyPaths> {
        let found = watched(py, None, |report| self.0.paths(&network.0, &demands.0, report))?;
        found.map(|paths| PyPaths(Arc::new(paths))).map_err(value_error)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScenario>()
}
