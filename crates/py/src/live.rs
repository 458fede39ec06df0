//! Throughput measurements between real machines, for Python.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::conditions::Conditions;
use anabranch_live::control::{Ceiling, suited};
use anabranch_live::perf::{
    Direction, Event, MOST_BYTES, MOST_SECONDS, MOST_STREAMS, PerfError, Plan, Running, Service,
};
use anabranch_live::security::{Identity, SecurityError};
use anabranch_live::session::SessionError;
use anabranch_live::url::Url;
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;
use tokio::sync::watch;

use crate::qlog::PyQlog;

/// An event: its kind, a message, and the JSON of a report.
type Told = (&'static str, String, Option<String>);

/// A running measurement or measurement server; `None` once it is stopped.
#[pyclass(frozen, name = "Perf", module = "anabranch._core")]
struct PyPerf {
    running: Mutex<Option<Running>>,
    /// Conditions of the paths of a measurement.
    conditions: watch::Sender<Conditions>,
}

#[pymethods]
impl PyPerf {
    #[staticmethod]
    #[pyo3(signature = (address, name, certificate, key, qlog = None))]
    fn serve(
        address: &str,
        name: Option<String>,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        qlog: Option<&PyQlog>,
    ) -> PyResult<Self> {
        let address: SocketAddr = address.parse().map_err(|_| {
            PyValueError::new_err(format!("`{address}` is no address to serve at; one is 0.0.0.0:4433 or [::]:4433"))
        })?;
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Identity::read(&certificate, &key).map_err(security_error)?),
            (None, None) => None,
            _ => return Err(PyValueError::new_err("a certificate and its key go together; give both or neither")),
        };
        Self::of(
            Running::serve(Service { address, identity, host: name, qlog: PyQlog::of(qlog) }),
            watch::Sender::default(),
        )
    }

    #[staticmethod]
    #[pyo3(signature = (url, via, control, reverse, seconds, bytes, streams, authorities, groups = Vec::new(), qlog = None))]
    fn measure(
        url: &str,
        via: Vec<String>,
        control: String,
        reverse: bool,
        seconds: Option<f64>,
        bytes: Option<u64>,
        streams: u32,
        authorities: Option<PathBuf>,
        groups: Vec<u32>,
        qlog: Option<&PyQlog>,
    ) -> PyResult<Self> {
        let url: Url = url.parse().map_err(|error: anabranch_live::url::UrlError| perf_error(error.into()))?;
        let direction = if reverse { Direction::Down } else { Direction::Up };
        let (seconds, bytes) = (seconds.unwrap_or(MOST_SECONDS), bytes.unwrap_or(MOST_BYTES));
        let (tell, conditions) = Conditions::grouped(groups).changing();
        let qlog = PyQlog::of(qlog);
        let plan = Plan { url, authorities, via, control, direction, seconds, bytes, streams, conditions, qlog };
        Self::of(Running::measure(plan), tell)
    }

    /// Sets the groups of the paths, if there are groups already, as many as before.
    fn regroup(&self, groups: Vec<u32>) {
        self.conditions.send_if_modified(|conditions| conditions.regroup(groups));
    }

    /// Sets the most that the sender may send, on links, in bit/s: over all paths, and over each where this end sends.
    #[pyo3(signature = (most_bps, paths_bps = Vec::new()))]
    fn limit(&self, most_bps: f64, paths_bps: Vec<f64>) {
        let ceiling = Ceiling { total: Rate(most_bps), paths: paths_bps.into_iter().map(Rate).collect() };
        self.conditions.send_modify(|conditions| conditions.ceiling = ceiling);
    }

    /// The next event, if there is one within `seconds`.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Told>> {
        let most = Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let wait = || {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.as_ref().and_then(|running| running.wait(most))
        };
        Ok(match py.detach(wait) {
            None => None,
            Some(Event::Serving(url)) => Some(("serving", url.to_string(), None)),
            Some(Event::Served(line)) => Some(("served", line, None)),
            Some(Event::Interval(interval)) => Some(("interval", interval.line(), None)),
            Some(Event::Measured(report)) => Some(("measured", report.lines().join("\n"), Some(report.json()))),
            Some(Event::Failed(error)) => return Err(perf_error(error)),
        })
    }

    /// Stops the measurement or server.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.running.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl PyPerf {
    fn of(running: Result<Running, PerfError>, conditions: watch::Sender<Conditions>) -> PyResult<Self> {
        running.map(|running| Self { running: Mutex::new(Some(running)), conditions }).map_err(perf_error)
    }
}

fn security_error(error: SecurityError) -> PyErr {
    perf_error(SessionError::from(error).into())
}

/// A `ValueError` for a mistake in the request, a `ConnectionError` for a failure of the network.
fn perf_error(error: PerfError) -> PyErr {
    let is_wrong = match &error {
        PerfError::Url(_) | PerfError::Unsuited(_) | PerfError::OutOfRange { .. } => true,
        PerfError::Session(error) => is_input(error),
        _ => false,
    };
    let said = error.to_string();
    if is_wrong { PyValueError::new_err(said) } else { PyConnectionError::new_err(said) }
}

/// Whether the caller's input caused the error.
fn is_input(error: &SessionError) -> bool {
    match error {
        SessionError::Refused { .. } | SessionError::NoEndpoint(_) => false,
        SessionError::Unreached { tried, .. } => tried.iter().all(is_input),
        _ => true,
    }
}

/// The names of the protocols that can control real connections.
#[pyfunction]
fn live_controls() -> Vec<&'static str> {
    suited()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPerf>()?;
    module.add("MOST_PERF_STREAMS", MOST_STREAMS)?;
    module.add_function(wrap_pyfunction!(live_controls, module)?)
}
