//! Agents as daemons, and the authority that names them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch_daemon::{Config, Running, ask};
use anabranch_live::authority::{Issuer, Name};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

fn config(path: PathBuf) -> PyResult<Config> {
    Config::read(&path).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// An agent that runs.
#[pyclass(frozen, name = "Agent", module = "anabranch._core")]
struct PyAgent(Mutex<Option<Running>>);

#[pymethods]
impl PyAgent {
    /// Starts an agent; a dry one prints what it would change instead of changing it.
    #[new]
    #[pyo3(signature = (path, dry=false, page=None))]
    fn new(py: Python<'_>, path: PathBuf, dry: bool, page: Option<&str>) -> PyResult<Self> {
        let config = config(path)?;
        let config = if dry { config.dry() } else { config };
        let running = py
            .detach(|| Running::start(config, page.map(Arc::from)))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Self(Mutex::new(Some(running))))
    }

    /// Waits for the end of the agent; why it has ended, if it has.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<String>> {
        let most = time(seconds)?;
        let end = py.detach(|| self.lock().as_ref().and_then(|running| running.wait(most)));
        Ok(end.map(|end| end.to_string()))
    }

    /// What has happened since the last call: levels as syslog has them, and lines.
    fn log(&self) -> Vec<(u8, String)> {
        let lines = self.lock().as_ref().map(Running::log).unwrap_or_default();
        lines.into_iter().map(|(level, line)| (level as u8, line)).collect()
    }

    /// Reads the file of the agent again.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        let reload = || self.lock().as_ref().map_or(Ok(()), Running::reload);
        py.detach(reload).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Makes ready to end; whether all sessions have left in time.
    fn drain(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let most = time(seconds)?;
        Ok(py.detach(|| self.lock().as_ref().is_none_or(|running| running.drain(most))))
    }

    /// Ends the agent.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl PyAgent {
    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn time(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Node, protocol, folder of the state, neighbours and sessions.
type Said = (String, String, PathBuf, Vec<String>, Vec<String>);

/// What a configuration says: the node, the name of the protocol, the folder of its state, the neighbours and the names of
/// its sessions.
#[pyfunction]
fn agent_config(path: PathBuf) -> PyResult<Said> {
    let Config { node, protocol, state, neighbours, sessions, .. } = config(path)?;
    let sessions = sessions.into_iter().map(|session| session.name).collect();
    Ok((node, protocol.title().to_owned(), state, neighbours.into_keys().collect(), sessions))
}

/// What carries out the commands that keep traffic to rates, if a configuration asks for that.
#[pyfunction]
fn agent_enforces(path: PathBuf) -> PyResult<Option<&'static str>> {
    Ok(config(path)?.enforcement.map(|enforcement| enforcement.backend.name()))
}

/// What may be a mistake in a configuration.
#[pyfunction]
fn agent_warnings(path: PathBuf) -> PyResult<Vec<String>> {
    Ok(config(path)?.warnings())
}

/// Asks the agent that runs with a folder of state, and waits some seconds; the answer is JSON.
#[pyfunction]
fn ask_agent(py: Python<'_>, state: PathBuf, question: String, seconds: f64) -> PyResult<String> {
    let most = time(seconds)?;
    py.detach(|| ask(&state, &question, most)).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// A new authority: its certificate and its key, in PEM.
#[pyfunction]
fn made_authority(network: &str) -> PyResult<(String, String)> {
    let made = Issuer::made(network).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((made.certificate().to_owned(), made.key().to_owned()))
}

/// A certificate with its key, in PEM, for an agent or an application.
#[pyfunction]
fn issued_certificate(
    certificate: String,
    key: String,
    is_agent: bool,
    name: String,
    days: u32,
) -> PyResult<(String, String)> {
    let name = if is_agent { Name::Agent(name) } else { Name::Application(name) };
    let issued = Issuer::of(certificate, key).issue(&name, days);
    let issued = issued.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((issued.certificate, issued.key))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyAgent>()?;
    module.add_function(wrap_pyfunction!(agent_config, module)?)?;
    module.add_function(wrap_pyfunction!(agent_enforces, module)?)?;
    module.add_function(wrap_pyfunction!(agent_warnings, module)?)?;
    module.add_function(wrap_pyfunction!(ask_agent, module)?)?;
    module.add_function(wrap_pyfunction!(made_authority, module)?)?;
    module.add_function(wrap_pyfunction!(issued_certificate, module)?)
}
