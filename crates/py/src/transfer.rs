//! Files shared and fetched over real connections.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::conditions::{Conditions, Present};
use anabranch_live::control::{Ceiling, named};
use anabranch_live::fetch::{
    FetchError, FetchRequest, Fetched, ListError, PathProgress, Progress, Proof, SourceProgress, SourceStanding,
    Wanted, fetch, list,
};
use anabranch_live::running::Running;
use anabranch_live::security::Identity;
use anabranch_live::share::{FilesError, Served, Service, ShareError, ShareEvent, share};
use anabranch_live::url::Url;
use anabranch_live::web::{Dialer, Tls, WebError, WebUrl, small_file};
use anabranch_transfer::{Algorithm, FileHash, Pieces, metalink};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use tokio::sync::watch;

use crate::qlog::PyQlog;
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
struct Share {
    running: Mutex<Option<Running<ShareEvent>>>,
    most: watch::Sender<Rate>,
}

#[pymethods]
impl Share {
    /// Shares `path` at these addresses, with the identity of the certificate and its key. Without a key, the identity
    /// is kept in one file, which is made if it does not exist. All connections together send no more than `most_bps`.
    #[new]
    #[pyo3(signature = (path, addresses, certificate, key, host, most_bps = f64::INFINITY))]
    fn new(
        path: PathBuf,
        addresses: Vec<String>,
        certificate: PathBuf,
        key: Option<PathBuf>,
        host: Option<String>,
        most_bps: f64,
    ) -> PyResult<Self> {
        let parse = |text: &String| {
            let address = text.parse();
            address.map_err(|_| wrong(format!("`{text}` is no ADDRESS:PORT; one is 0.0.0.0:4433, or [::]:4433")))
        };
        let addresses = addresses.iter().map(parse).collect::<PyResult<_>>()?;
        let identity = key.map_or_else(|| Identity::kept(&certificate), |key| Identity::read(&certificate, &key));
        let (tell, most) = watch::channel(Rate(most_bps));
        let service = Service { path, addresses, identity: identity.map_err(wrong)?, host, most };
        let running = Mutex::new(Some(Running::start(|events| share(service, events)).map_err(failed)?));
        Ok(Self { running, most: tell })
    }

    /// Sets the most that all connections may send together, on links, in bit/s.
    fn limit(&self, most_bps: f64) {
        self.most.send_replace(Rate(most_bps));
    }

    /// Stops sharing.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.running);
    }

    /// The next event within some milliseconds: a URL at which the path is shared, or an address with the bytes that it
    /// has received, and whether it now has a whole file.
    #[allow(clippy::type_complexity)]
    fn wait(&self, py: Python<'_>) -> PyResult<Option<(Option<String>, Option<(String, u64, bool)>)>> {
        match wait(py, &self.running)? {
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
    /// Conditions of the paths to each sharer.
    conditions: Vec<watch::Sender<Conditions>>,
}

#[pymethods]
impl Fetch {
    /// Fetches a file to `target` from these URLs of sharers, each with the groups of the paths to it, and these URLs of
    /// web servers. `hashes`, `size` and `pieces` (hash function, bytes, hashes) are those of the file, as far as they
    /// are known.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        sources: Vec<(String, Vec<u32>)>,
        mirrors: Vec<String>,
        target: PathBuf,
        control: String,
        via: Vec<String>,
        hashes: Vec<String>,
        size: Option<u64>,
        pieces: Option<(String, u64, Vec<String>)>,
        authorities: Option<PathBuf>,
        patience_s: f64,
        qlog: Option<&PyQlog>,
    ) -> PyResult<Self> {
        let protocol = named(&control).map_err(wrong)?;
        let hashes = hashes.iter().map(|text| text.parse().map_err(wrong)).collect::<PyResult<_>>()?;
        let patience = Duration::try_from_secs_f64(patience_s).map_err(wrong)?;
        let told = sources.iter().map(|(_, groups)| Conditions::grouped(groups.clone()).changing());
        let (conditions, present): (Vec<_>, Vec<_>) = told.unzip();
        let urls = sources.iter().map(|(url, _)| url).zip(present);
        let sources = urls.map(|(url, conditions)| wanted(url, conditions)).collect::<PyResult<_>>()?;
        let mirrors = mirrors.iter().map(|url| url.parse().map_err(wrong)).collect::<PyResult<_>>()?;
        let pieces = pieces.map(|(algorithm, bytes, hashes)| read_pieces(&algorithm, bytes, &hashes)).transpose()?;
        let qlog = PyQlog::of(qlog);
        let request =
            FetchRequest { sources, mirrors, authorities, via, protocol, target, hashes, size, pieces, patience, qlog };
        request.check().map_err(wrong)?;
        let sharers = request.sources.iter().map(|source| label(&source.url));
        let progress = Arc::new(Progress::new(sharers, request.mirrors.iter().map(WebUrl::authority)));
        let told = Arc::clone(&progress);
        let work = |events: anabranch_live::running::Events<_>| async move { events.tell(fetch(request, told).await) };
        Ok(Self { running: Mutex::new(Some(Running::start(work).map_err(failed)?)), progress, conditions })
    }

    /// Sets the groups of the paths to a sharer, if there are groups already, as many as before.
    fn regroup(&self, source: usize, groups: Vec<u32>) -> PyResult<()> {
        self.change(source, |conditions| conditions.regroup(groups))
    }

    /// Sets the most that a sharer may send over all paths, on links, in bit/s.
    fn limit(&self, source: usize, most_bps: f64) -> PyResult<()> {
        self.change(source, |conditions| {
            conditions.ceiling = Ceiling::of_all(Rate(most_bps));
            true
        })
    }

    /// Stops the fetch, and keeps what has arrived.
    fn stop(&self, py: Python<'_>) {
        stop(py, &self.running);
    }

    /// The result of a completed fetch: hashes, what showed that it is right with the given hashes, bytes, and bytes that
    /// were present before.
    #[allow(clippy::type_complexity)]
    fn wait(&self, py: Python<'_>) -> PyResult<Option<(Vec<String>, (&'static str, Vec<String>), u64, u64)>> {
        match wait(py, &self.running)? {
            None => Ok(None),
            Some(Ok(Fetched { hashes, proof, size, was_there, .. })) => {
                let texts = |hashes: &[FileHash]| hashes.iter().map(ToString::to_string).collect();
                let proof = match &proof {
                    Proof::Tree(hashes) => ("tree", texts(hashes)),
                    Proof::Pieces(hashes) => ("pieces", texts(hashes)),
                    Proof::Whole(hashes) => ("whole", texts(hashes)),
                    Proof::Nothing => ("nothing", Vec::new()),
                };
                Ok(Some((texts(&hashes), proof, size, was_there)))
            }
            Some(Err(error @ (FetchError::Unsuited(_) | FetchError::Contradiction { .. } | FetchError::Via(_)))) => {
                Err(wrong(error))
            }
            Some(Err(error)) => Err(failed(error)),
        }
    }

    /// The progress: the size of the file if it is known, bytes that were present before, a row for each source, and
    /// whether mirrors whose chunks are put together agree in the size of the file alone.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(Option<u64>, u64, Bound<'py, PyList>, bool)> {
        let state = self.progress.state();
        let sources = state.sources.iter().map(|source| row(py, source)).collect::<PyResult<Vec<_>>>()?;
        Ok((state.size, state.was_there, PyList::new(py, sources)?, state.agree_in_size_alone))
    }
}

impl Fetch {
    /// Changes the conditions of the paths to a sharer.
    fn change(&self, source: usize, change: impl FnOnce(&mut Conditions) -> bool) -> PyResult<()> {
        let conditions = self.conditions.get(source).ok_or_else(|| wrong(format!("there is no sharer {source}")))?;
        conditions.send_if_modified(change);
        Ok(())
    }
}

/// A source from which a file is to be fetched.
fn wanted(url: &str, conditions: Present) -> PyResult<Wanted> {
    let url: Url = url.parse().map_err(wrong)?;
    let name = url.path.parse().map_err(wrong)?;
    Ok(Wanted { url, name, conditions })
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
    row.set_item("is_mirror", source.is_mirror)?;
    row.set_item("takes_ranges", source.takes_ranges)?;
    row.set_item("standing", standing)?;
    row.set_item("why", why)?;
    row.set_item("brought_bytes", source.brought)?;
    row.set_item("silence_s", source.silence.as_secs_f64())?;
    row.set_item("losses", source.losses)?;
    let paths = source.paths.iter().map(|path| path_row(py, path)).collect::<PyResult<Vec<_>>>()?;
    row.set_item("paths", paths)?;
    Ok(row)
}

/// A path as a row of names and values.
fn path_row<'py>(py: Python<'py>, path: &PathProgress) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("path", &path.label)?;
    row.set_item("is_open", path.is_open)?;
    row.set_item("received_bytes", path.received_bytes)?;
    row.set_item("rtt_s", path.rtt_s)?;
    Ok(row)
}

/// The hashes of pieces, from their texts.
fn read_pieces(algorithm: &str, bytes: u64, hashes: &[String]) -> PyResult<Pieces> {
    let algorithm = Algorithm::named(algorithm).ok_or_else(|| wrong(format!("`{algorithm}` is no hash function")))?;
    let hashes = hashes.iter().map(|text| FileHash::read(algorithm, text).map_err(wrong)).collect::<PyResult<_>>()?;
    Ok(Pieces { algorithm, bytes, hashes })
}

/// The name of the file in a URL; None if the URL names none.
#[pyfunction]
fn url_name(url: &str) -> PyResult<Option<String>> {
    if WebUrl::is_meant(url) {
        return Ok(url.parse::<WebUrl>().map_err(wrong)?.name());
    }
    let url: Url = url.parse().map_err(wrong)?;
    Ok(url.name().map(str::to_owned))
}

/// The URL of another file of the same sharer.
#[pyfunction]
fn url_with_name(url: &str, name: &str) -> PyResult<String> {
    let url: Url = url.parse().map_err(wrong)?;
    Ok(Url { path: name.to_owned(), hash: None, ..url }.to_string())
}

/// The decoded path in the URL of a sharer; empty for the root of a folder.
#[pyfunction]
fn url_path(url: &str) -> PyResult<String> {
    Ok(url.parse::<Url>().map_err(wrong)?.path)
}

/// Whether a text begins as the URL of a web server does.
#[pyfunction]
fn is_web_url(text: &str) -> bool {
    WebUrl::is_meant(text)
}

/// The names and sizes of all files of a sharer.
#[pyfunction]
fn list_files(
    py: Python<'_>,
    url: &str,
    authorities: Option<PathBuf>,
    via: Vec<String>,
) -> PyResult<Vec<(String, u64)>> {
    let url: Url = url.parse().map_err(wrong)?;
    let work = |events: anabranch_live::running::Events<Result<Vec<_>, ListError>>| async move {
        events.tell(list(&url, authorities.as_deref(), &via).await);
    };
    let listed = outcome(py, Running::start(work).map_err(failed)?)?.map_err(failed)?;
    Ok(listed.into_iter().map(|entry| (entry.name.to_string(), entry.size)).collect())
}

/// A small file of a web server, such as a Metalink file.
#[pyfunction]
fn small_web_file(py: Python<'_>, url: &str, authorities: Option<PathBuf>, via: Option<String>) -> PyResult<Vec<u8>> {
    let url: WebUrl = url.parse().map_err(wrong)?;
    let dialer = Dialer { via, tls: Tls::trusting(authorities.as_deref()).map_err(failed)? };
    let place = url.to_string();
    let work = |events: anabranch_live::running::Events<Result<Vec<u8>, WebError>>| async move {
        events.tell(small_file(&dialer, &url, metalink::MOST_BYTES).await);
    };
    let file = outcome(py, Running::start(work).map_err(failed)?)?;
    file.map_err(|error| failed(format!("{place}: {error}")))
}

/// The only event of a task; waits for it, and checks for Ctrl-C from time to time.
fn outcome<E: Send + 'static>(py: Python<'_>, running: Running<E>) -> PyResult<E> {
    let running = Mutex::new(Some(running));
    let event = loop {
        match wait(py, &running) {
            Ok(Some(event)) => break Ok(event),
            Ok(None) => {}
            Err(error) => break Err(error),
        }
    };
    stop(py, &running);
    event
}

/// The files that a Metalink file describes, each as a row of names and values.
#[pyfunction]
fn read_metalink<'py>(py: Python<'py>, text: &[u8]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let files = metalink::read(text).map_err(wrong)?;
    let row = |file: metalink::Described| {
        let row = PyDict::new(py);
        row.set_item("name", file.name.as_str())?;
        row.set_item("size", file.size)?;
        row.set_item("hashes", file.hashes.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        row.set_item("pieces", file.pieces.map(|pieces| (pieces.algorithm.name(), pieces.bytes, digits(&pieces))))?;
        row.set_item("urls", file.urls)?;
        Ok(row)
    };
    files.into_iter().map(row).collect()
}

/// The hexadecimal digits of the hashes of pieces.
fn digits(pieces: &Pieces) -> Vec<String> {
    let digits = |hash: &FileHash| hash.to_string().split_off(pieces.algorithm.name().len() + 1);
    pieces.hashes.iter().map(digits).collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Share>()?;
    module.add_class::<Fetch>()?;
    module.add_function(wrap_pyfunction!(url_name, module)?)?;
    module.add_function(wrap_pyfunction!(url_with_name, module)?)?;
    module.add_function(wrap_pyfunction!(url_path, module)?)?;
    module.add_function(wrap_pyfunction!(is_web_url, module)?)?;
    module.add_function(wrap_pyfunction!(list_files, module)?)?;
    module.add_function(wrap_pyfunction!(small_web_file, module)?)?;
    module.add_function(wrap_pyfunction!(read_metalink, module)?)
}
