//! Files shared and fetched over real connections.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_live::PathReport;
use anabranch_live::control::named;
use anabranch_live::fetch::{
    FetchError, FetchRequest, Fetched, Progress, SourceProgress, SourceStanding, Wanted, fetch,
};
use anabranch_live::running::Running;
use anabranch_live::security::Identity;
use anabranch_live::share::{FilesError, Served, Service, ShareError, ShareEvent, share};
use anabranch_live::url::Url;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::watch::LOOK;

/// A `ValueError` for an invalid value.
fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An `OSError` for a refusal by the system or a peer.
fn failed(error: impl ToString) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Waits for an event of a running task, and checks for Ctrl-C from time to time.
fn wait<E: Send + 'static>(py: Python<'_>, running: &Mutex<Option<Running<E>>>) -> PyResult<Option<E>> {
    py.check_signals()?;
    Ok(py.detach(|| running.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.wait(LOOK)))
}

/// Stops a running task.
fn stop<E: Send + 'static>(py: Python<'_>, running: &Mutex<Option<Running<E>>>) {
    py.detach(|| drop(running.lock().unwrap_or_else(PoisonError::into_inner).take()));
}

/// A shared directory or file; it is shared until this object is stopped or deleted.
#[pyclass(module = "anabranch._core", frozen)]
struct Share(Mutex<Option<Running<ShareEvent>>>);

#[pymethods]
impl Share {
    /// Shares `path` at these addresses, with the identity of the certificate and its key. Without a key, the identity
    /// is kept in one file, which is made if it does not exist.
    #[new]
    fn new(
        path: PathBuf,
        addresses: Vec<String>,
        certificate: PathBuf,
        key: Option<PathBuf>,
        host: Option<String>,
    ) -> PyResult<Self> {
        let parse = |text: &String| {
            let address = text.parse();
            address.map_err(|_| wrong(format!("`{text}` is no ADDRESS:PORT; one is 0.0.0.0:4433, or [::]:4433")))
        };
        let addresses = addresses.iter().map(parse).collect::<PyResult<_>>()?;
        let identity = key.map_or_else(|| Identity::kept(&certificate), |key| Identity::read(&certificate, &key));
        let service = Service { path, addresses, identity: identity.map_err(wrong)?, host };
        Ok(Self(Mutex::new(Some(Running::start(|events| share(service, events)).map_err(failed)?))))
    }

    /// Stops sharing.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.0);
    }

    /// The next event within some milliseconds: a URL at which the path is shared, or an address with the bytes that it
    /// has received, and whether it now has a whole file.
    #[allow(clippy::type_complexity)]
    fn wait(&self, py: Python<'_>) -> PyResult<Option<(Option<String>, Option<(String, u64, bool)>)>> {
        match wait(py, &self.0)? {
            None => Ok(None),
            Some(ShareEvent::Sharing(url)) => Ok(Some((Some(url.to_string()), None))),
            Some(ShareEvent::Served(Served { remote, bytes, has_file })) => {
                Ok(Some((None, Some((remote, bytes, has_file)))))
            }
            Some(ShareEvent::Failed(error @ ShareError::Path { error: FilesError::Name(_), .. })) => Err(wrong(error)),
            Some(ShareEvent::Failed(error)) => Err(failed(error)),
        }
    }
}

/// A fetch, which continues until this object is stopped or deleted.
#[pyclass(module = "anabranch._core", frozen)]
struct Fetch {
    running: Mutex<Option<Running<Result<Fetched, FetchError>>>>,
    progress: Arc<Progress>,
}

#[pymethods]
impl Fetch {
    /// Fetches a file to `target` from these URLs, each with the groups of the paths to it.
    #[new]
    fn new(
        sources: Vec<(String, Vec<u32>)>,
        target: PathBuf,
        control: String,
        via: Vec<String>,
        hash: Option<&str>,
        authorities: Option<PathBuf>,
        patience_s: f64,
    ) -> PyResult<Self> {
        let protocol = named(&control).map_err(wrong)?;
        let hash = hash.map(str::parse).transpose().map_err(wrong)?;
        let patience = Duration::try_from_secs_f64(patience_s).map_err(wrong)?;
        let sources = sources.iter().map(|(url, groups)| wanted(url, groups)).collect::<PyResult<_>>()?;
        let request = FetchRequest { sources, authorities, via, protocol, target, hash, patience };
        request.check_groups().and_then(|()| request.hash()).map_err(wrong)?;
        let progress = Arc::new(Progress::new(request.sources.iter().map(|source| label(&source.url))));
        let told = Arc::clone(&progress);
        let work = |events: anabranch_live::running::Events<_>| async move { events.tell(fetch(request, told).await) };
        Ok(Self { running: Mutex::new(Some(Running::start(work).map_err(failed)?)), progress })
    }

    /// Stops the fetch, and keeps what has arrived.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.running);
    }

    /// The result of a completed fetch: (hash, bytes, bytes that were present before, bytes of each source).
    #[allow(clippy::type_complexity)]
    fn wait(&self, py: Python<'_>) -> PyResult<Option<(String, u64, u64, Vec<u64>)>> {
        match wait(py, &self.running)? {
            None => Ok(None),
            Some(Ok(Fetched { root, size, was_there, brought })) => {
                Ok(Some((root.to_string(), size, was_there, brought)))
            }
            Some(Err(error @ (FetchError::Unsuited(_) | FetchError::Contradiction { .. }))) => Err(wrong(error)),
            Some(Err(error)) => Err(failed(error)),
        }
    }

    /// The progress: the size of the file if it is known, bytes that were present before, and a row for each source.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(Option<u64>, u64, Bound<'py, PyList>)> {
        let state = self.progress.state();
        let sources = state.sources.iter().map(|source| row(py, source)).collect::<PyResult<Vec<_>>>()?;
        Ok((state.file.map(|(size, _)| size), state.was_there, PyList::new(py, sources)?))
    }
}

/// A source from which a file is to be fetched.
fn wanted(url: &str, groups: &[u32]) -> PyResult<Wanted> {
    let url: Url = url.parse().map_err(wrong)?;
    let name = url.path.parse().map_err(wrong)?;
    Ok(Wanted { url, name, groups: groups.to_vec() })
}

/// The readable name of a source.
fn label(url: &Url) -> String {
    if url.host.contains(':') { format!("[{}]:{}", url.host, url.port) } else { format!("{}:{}", url.host, url.port) }
}

/// A source as a row of names and values.
fn row<'py>(py: Python<'py>, source: &SourceProgress) -> PyResult<Bound<'py, PyDict>> {
    let (standing, why) = match &source.standing {
        SourceStanding::Awaited => ("awaited", None),
        SourceStanding::Preparing => ("preparing", None),
        SourceStanding::Waiting => ("waiting", None),
        SourceStanding::Sending => ("sending", None),
        SourceStanding::Lost(why) => ("lost", Some(why)),
        SourceStanding::Refused(why) => ("refused", Some(why)),
    };
    let row = PyDict::new(py);
    row.set_item("source", &source.label)?;
    row.set_item("standing", standing)?;
    row.set_item("why", why)?;
    row.set_item("brought_bytes", source.brought)?;
    let paths = source.paths.iter().map(|path| path_row(py, path)).collect::<PyResult<Vec<_>>>()?;
    row.set_item("paths", paths)?;
    Ok(row)
}

/// A path as a row of names and values.
fn path_row<'py>(py: Python<'py>, path: &PathReport) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("path", &path.label)?;
    row.set_item("is_open", path.is_open)?;
    row.set_item("received_bytes", path.received_bytes)?;
    row.set_item("rtt_s", path.rtt_s)?;
    Ok(row)
}

/// The name of the file in a URL; None if the URL names none.
#[pyfunction]
fn url_name(url: &str) -> PyResult<Option<String>> {
    let url: Url = url.parse().map_err(wrong)?;
    Ok(url.name().map(str::to_owned))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Share>()?;
    module.add_class::<Fetch>()?;
    module.add_function(wrap_pyfunction!(url_name, module)?)
}
