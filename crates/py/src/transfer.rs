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

/// A value that cannot be.
fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What the system or a peer refuses.
fn failed(error: impl ToString) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Waits for what runs, while the keyboard is looked at now and then.
fn wait<E: Send + 'static>(py: Python<'_>, running: &Mutex<Option<Running<E>>>) -> PyResult<Option<E>> {
    py.check_signals()?;
    Ok(py.detach(|| running.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.wait(LOOK)))
}

/// Ends what runs.
fn stop<E: Send + 'static>(py: Python<'_>, running: &Mutex<Option<Running<E>>>) {
    py.detach(|| drop(running.lock().unwrap_or_else(PoisonError::into_inner).take()));
}

/// A directory or a file that is shared until this is stopped or gone.
#[pyclass(module = "anabranch._core", frozen)]
struct Share(Mutex<Option<Running<ShareEvent>>>);

#[pymethods]
impl Share {
    /// Shares `path` at these addresses, as who the certificate and its key say; as who is kept in one file, which is
    /// made if it is not there, if there is no key.
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

    /// Shares no more.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.0);
    }

    /// What has happened, within some milliseconds: that it is shared at a URL, or that an address has taken bytes, and
    /// whether it has a file whole now.
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

/// A fetch, which goes on until this is stopped or gone.
#[pyclass(module = "anabranch._core", frozen)]
struct Fetch {
    running: Mutex<Option<Running<Result<Fetched, FetchError>>>>,
    progress: Arc<Progress>,
}

#[pymethods]
impl Fetch {
    /// Fetches the file at these URLs, each with the groups of the paths to it, to `target`.
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

    /// Leaves it at what has come.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.running);
    }

    /// What came of it, once it is over: (hash, bytes, bytes that were there before, bytes of each source).
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

    /// How far it is: the size of the file if it is known, bytes that were there before, and a row for each source.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(Option<u64>, u64, Bound<'py, PyList>)> {
        let state = self.progress.state();
        let sources = state.sources.iter().map(|source| row(py, source)).collect::<PyResult<Vec<_>>>()?;
        Ok((state.file.map(|(size, _)| size), state.was_there, PyList::new(py, sources)?))
    }
}

/// Where a file is to be fetched from.
fn wanted(url: &str, groups: &[u32]) -> PyResult<Wanted> {
    let url: Url = url.parse().map_err(wrong)?;
    let name = url.path.parse().map_err(wrong)?;
    Ok(Wanted { url, name, groups: groups.to_vec() })
}

/// What people know a source by.
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

/// The name of the file that a URL is of; None if it names none.
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
