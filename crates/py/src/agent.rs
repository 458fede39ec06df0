//! Agents as daemons, and the authority that names them.

use std::path::PathBuf;
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
struct PyAgent(std::sync::Mutex<Option<Running>>);

#[pymethods]
impl PyAgent {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let config = config(path)?;
        let running = py.detach(|| Running::start(config)).map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(Self(std::sync::Mutex::new(Some(running))))
    }

    /// Waits for the end of the agent; whether it has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let most = Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let running = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(py.detach(|| running().as_ref().is_none_or(|running| running.wait(most))))
    }

    /// Ends the agent.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()));
    }
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

/// Asks the agent that runs with a folder of state; the answer is JSON.
#[pyfunction]
fn ask_agent(py: Python<'_>, state: PathBuf, question: String) -> PyResult<String> {
    py.detach(|| ask(&state, &question)).map_err(|error| PyOSError::new_err(error.to_string()))
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
    module.add_function(wrap_pyfunction!(ask_agent, module)?)?;
    module.add_function(wrap_pyfunction!(made_authority, module)?)?;
    module.add_function(wrap_pyfunction!(issued_certificate, module)?)
}
