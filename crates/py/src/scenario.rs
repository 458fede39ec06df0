//! Scenario files, and the plans that they yield.

use std::sync::Arc;

use anabranch_plan::Plan;
use anabranch_scenario::{NetworkSource, Scenario, Trace, scenario_schema};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::network::{PyDemands, PyNetwork, value_error};
use crate::paths::{PyPaths, watched};

/// A network file, with the default capacity in bit/s and the default delay of its links.
type NetworkFile = (String, Option<f64>, Option<String>);

/// A scenario file that was read.
#[pyclass(frozen, name = "Scenario", module = "anabranch._core")]
struct PyScenario(Scenario);

#[pymethods]
impl PyScenario {
    /// Reads a scenario. `sets` are overriding values, each a path such as `connection.0.weight` and its value as TOML
    /// or text. With `for_programs`, the network is for programs, and connections need no protocol.
    #[new]
    #[pyo3(signature = (text, sets=Vec::new(), for_programs=false))]
    fn new(text: &str, sets: Vec<(String, String)>, for_programs: bool) -> PyResult<Self> {
        let scenario = Scenario::parse_with(text, &sets).map_err(value_error)?;
        Ok(Self(if for_programs { scenario.for_programs() } else { scenario }))
    }

    /// The JSON schema of the scenario file.
    #[staticmethod]
    fn schema() -> String {
        scenario_schema()
    }

    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    #[getter]
    fn description(&self) -> &str {
        self.0.description()
    }

    /// The network, if it is in the scenario file or made by a rule in it.
    fn network(&self, py: Python<'_>) -> PyResult<Option<PyNetwork>> {
        match watched(py, None, |_| self.0.network())?.map_err(value_error)? {
            NetworkSource::Inline(network) => Ok(Some(PyNetwork(Arc::new(network)))),
            NetworkSource::File(_) => Ok(None),
        }
    }

    /// File, capacity in bit/s and delay, if the network is in a separate file.
    fn network_file(&self, py: Python<'_>) -> PyResult<Option<NetworkFile>> {
        match watched(py, None, |_| self.0.network())?.map_err(value_error)? {
            NetworkSource::Inline(_) => Ok(None),
            NetworkSource::File(f) => Ok(Some((f.file, f.capacity.map(|c| c.0), f.delay))),
        }
    }

    /// The message for a mistake in the network's file, with the place of the file's name.
    fn network_file_error(&self, message: &str) -> String {
        self.0.network_file_error(message).to_string()
    }

    /// The file of demands, if the scenario names one; its content is passed as `extra` below.
    #[getter]
    fn demands_file(&self) -> Option<&str> {
        self.0.demands_file()
    }

    /// The message for a mistake in the file of demands, with the place of the file's name.
    fn demands_file_error(&self, message: &str) -> String {
        self.0.demands_file_error(message).to_string()
    }

    /// All connections with their paths. Ctrl-C cancels the search.
    fn connections(
        &self,
        py: Python<'_>,
        network: &PyNetwork,
        extra: Option<&PyDemands>,
    ) -> PyResult<(PyDemands, PyPaths)> {
        let extra = extra.map(|demands| &*demands.0);
        let found = watched(py, None, |report| self.0.connections(&network.0, extra, report))?;
        let (demands, paths) = found.map_err(value_error)?;
        Ok((PyDemands(Arc::new(demands)), PyPaths(Arc::new(paths))))
    }

    /// The plan of the run. `read` returns the text of a trace; Ctrl-C cancels the search for paths.
    fn plan(
        &self,
        py: Python<'_>,
        network: &PyNetwork,
        extra: Option<&PyDemands>,
        read: Py<PyAny>,
    ) -> PyResult<PyPlan> {
        let (network, extra) = (network.0.clone(), extra.map(|demands| &*demands.0));
        let read = &read;
        let found = watched(py, None, |report| self.0.plan(network, extra, &|name| text_of(read, name), report))?;
        found.map(PyPlan).map_err(value_error)
    }

    /// The scenario of a plan with every default written out and all content of other files included.
    fn resolved(&self, py: Python<'_>, plan: &PyPlan, extra: Option<&PyDemands>, read: Py<PyAny>) -> PyResult<String> {
        let extra = extra.map(|demands| &*demands.0);
        let read = &read;
        let text = watched(py, None, |_| self.0.resolved(&plan.0, extra, &|name| text_of(read, name)))?;
        text.map_err(value_error)
    }
}

/// The result of the callable for a file's name, or the message of the exception that it raises.
fn text_of(read: &Py<PyAny>, name: &str) -> Result<String, String> {
    Python::attach(|py| {
        let text = read.call1(py, (name,)).and_then(|text| text.extract(py));
        text.map_err(|error| error.value(py).to_string())
    })
}

/// The plan of a run.
#[pyclass(frozen, name = "Plan", module = "anabranch._core")]
pub struct PyPlan(pub Plan);

#[pymethods]
impl PyPlan {
    fn demands(&self) -> PyDemands {
        PyDemands(Arc::new(self.0.demands.clone()))
    }

    fn paths(&self) -> PyPaths {
        PyPaths(Arc::new(self.0.paths.clone()))
    }

    /// The protocols in use, each with its name in files and its readable name.
    #[getter]
    fn protocols(&self) -> Vec<(&'static str, &'static str)> {
        self.0.protocols.iter().map(|p| (p.name(), p.title())).collect()
    }

    /// Whether any of them is a window protocol.
    #[getter]
    fn keeps_windows(&self) -> bool {
        self.0.protocols.iter().any(|p| p.capabilities().keeps_windows())
    }

    /// Warnings about a valid scenario that a reader of the run's numbers must know.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings()
    }

    /// The number of each connection's protocol.
    #[getter]
    fn connection_protocol<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.transfers.iter().map(|t| t.protocol as u32).collect::<Vec<_>>().into_pyarray(py)
    }

    /// The amount of data of each connection; infinite if there is no limit.
    #[getter]
    fn amount_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let bytes = self.0.transfers.iter().map(|t| t.amount.map_or(f64::INFINITY, |amount| amount.0 as f64));
        bytes.collect::<Vec<_>>().into_pyarray(py)
    }

    /// The packet size of each connection.
    #[getter]
    fn packet_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.transfers.iter().map(|t| t.packet.0 as f64).collect::<Vec<_>>().into_pyarray(py)
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.run.duration.seconds()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.run.seed
    }
}

/// A trace: the times of opportunities in milliseconds, or the times in seconds and capacities in bit/s.
type TraceColumns<'py> = (Option<Bound<'py, PyArray1<u32>>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Reads the file of a trace: opportunities, or else times and capacities.
#[pyfunction]
fn read_trace<'py>(py: Python<'py>, text: &str) -> PyResult<TraceColumns<'py>> {
    let (opportunities, changes) = match Trace::read(text).map_err(value_error)? {
        Trace::Opportunities(times) => (Some(times.as_slice().to_vec().into_pyarray(py)), Vec::new()),
        Trace::Capacities(changes) => (None, changes),
    };
    let times: Vec<f64> = changes.iter().map(|change| change.time().seconds()).collect();
    let capacities: Vec<f64> = changes.iter().map(|change| change.capacity.rate().0).collect();
    Ok((opportunities, times.into_pyarray(py), capacities.into_pyarray(py)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScenario>()?;
    module.add_class::<PyPlan>()?;
    module.add_function(wrap_pyfunction!(read_trace, module)?)
}
