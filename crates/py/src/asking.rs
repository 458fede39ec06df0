//! Questions to agents on other machines.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anabranch_live::agents::{Asking, Heard, Peer, Peers};
use anabranch_live::authority::{Authority, Name};
use anabranch_live::security::Identity;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::watch::{LOOK, watched};

/// A question to an agent on another machine, with its answers.
#[pyclass(frozen, name = "Asking", module = "anabranch._core")]
struct PyAsking(Mutex<Option<Arc<Asking>>>);

fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn failed(error: impl ToString) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pymethods]
impl PyAsking {
    /// Asks the agent of a node at HOST:PORT, with a certificate and its key in one file; a connection may take some
    /// seconds.
    #[new]
    fn new(
        py: Python<'_>,
        address: &str,
        node: String,
        authority: PathBuf,
        certificate: PathBuf,
        question: &str,
        seconds: f64,
    ) -> PyResult<Self> {
        let most = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        let identity = Identity::read(&certificate, &certificate).map_err(wrong)?;
        let authority = Authority::read(&authority).map_err(wrong)?;
        let who = Peers::one(Some(authority), Peer::Named(Name::Agent(node)), ());
        let ask = |goes_on: &(dyn Fn() -> bool + Sync)| Asking::new(address, &identity, who, question, most, goes_on);
        let (asking, raised) = watched(py, |_| Ok(()), ask);
        raised.map_or(Ok(()), Err)?;
        Ok(Self(Mutex::new(Some(Arc::new(asking.map_err(failed)?)))))
    }

    /// The next line of the answer: None if none comes within some seconds, and empty if no more come.
    fn line(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<String>> {
        let until = Instant::now() + Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        let Some(asking) = self.asking() else { return Ok(Some(String::new())) };
        loop {
            py.check_signals()?;
            let rest = until.saturating_duration_since(Instant::now());
            match py.detach(|| asking.line(rest.min(LOOK))) {
                Heard::Line(line) => return Ok(Some(line)),
                Heard::Silence if rest > LOOK => {}
                Heard::Silence => return Ok(None),
                Heard::End(None) => return Ok(Some(String::new())),
                Heard::End(Some(reason)) => return Err(failed(reason)),
            }
        }
    }

    /// Writes a line.
    fn say(&self, py: Python<'_>, line: &str) -> PyResult<()> {
        let asking = self.asking().ok_or_else(|| failed("the question has ended"))?;
        py.detach(|| asking.say(line)).map_err(failed)
    }

    /// Ends the question; a thread that waits for a line hears of it.
    fn end(&self) {
        if let Some(asking) = self.asking() {
            asking.close();
        }
    }

    /// Ends the question, and gives back what it took.
    fn close(&self, py: Python<'_>) {
        let asking = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(asking));
    }
}

impl PyAsking {
    fn asking(&self) -> Option<Arc<Asking>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyAsking>()
}
