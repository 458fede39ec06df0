//! Path searches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anabranch_core::paths::{self, GroupSearch, Metric, SearchError, Sharing, check_path, links_along, links_named};
use anabranch_core::{LinkId, Network, NodeId, Paths};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::network::{PyDemands, PyNetwork, value_error};
use crate::watch;

/// Paths of connections, as index arrays.
#[pyclass(frozen, name = "Paths", module = "anabranch._core")]
pub struct PyPaths(pub Arc<Paths>);

#[pymethods]
impl PyPaths {
    #[getter]
    fn connection_offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        offsets(py, self.0.connection_offsets())
    }

    #[getter]
    fn path_offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        offsets(py, self.0.path_offsets())
    }

    #[getter]
    fn path_links<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.links().iter().map(|l| l.0).collect::<Vec<_>>().into_pyarray(py)
    }
}

fn offsets<'py>(py: Python<'py>, offsets: &[usize]) -> Bound<'py, PyArray1<i64>> {
    offsets.iter().map(|&o| o as i64).collect::<Vec<_>>().into_pyarray(py)
}

/// A metric: "hops", "delay", or a number for each link.
#[derive(FromPyObject)]
enum MetricArgument<'py> {
    Name(String),
    Given(PyReadonlyArray1<'py, f64>),
}

impl MetricArgument<'_> {
    fn into_metric(self) -> PyResult<Metric> {
        match self {
            Self::Name(name) if name == "hops" => Ok(Metric::Hops),
            Self::Name(name) if name == "delay" => Ok(Metric::Delay),
            Self::Name(name) => Err(value_error(format!(
                "metric is \"{name}\"; it must be \"hops\", \"delay\" or a number for each link"
            ))),
            Self::Given(values) => Ok(Metric::Given(values.as_slice()?.to_vec())),
        }
    }
}

type Search = fn(&Network, &[(NodeId, NodeId)], usize, &Metric, paths::Progress<'_>) -> Result<Paths, SearchError>;

/// Finds up to `count` paths for each connection: "shortest", "equal-cost" or "disjoint".
///
/// `progress` is called with the number of connections done; an exception from it or Ctrl-C cancels the search.
#[pyfunction]
#[pyo3(signature = (network, demands, kind, count, metric, progress=None))]
fn find_paths(
    py: Python<'_>,
    network: &PyNetwork,
    demands: &PyDemands,
    kind: &str,
    count: usize,
    metric: MetricArgument<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyPaths> {
    let search: Search = match kind {
        "shortest" => paths::k_shortest,
        "equal-cost" => paths::equal_cost,
        "disjoint" => paths::disjoint,
        _ => {
            let must = "it must be \"shortest\", \"equal-cost\" or \"disjoint\"";
            return Err(value_error(format!("the kind of paths is \"{kind}\"; {must}")));
        }
    };
    if !(1..=paths::MOST_PATHS).contains(&count) {
        return Err(value_error(format!("the number of paths for each connection is {count}; it must be 1 to 65,536")));
    }
    let metric = metric.into_metric()?;
    let pairs: Vec<_> = demands.0.connections().iter().map(|c| (c.source, c.target)).collect();
    let found = watched(py, progress, |report| search(&network.0, &pairs, count, &metric, report))?;
    found.map(|paths| PyPaths(Arc::new(paths))).map_err(value_error)
}

/// Searches to the end or until Ctrl-C, and reports the number of connections done to `progress`.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    search: impl FnOnce(paths::Progress<'_>) -> T + Send,
) -> PyResult<T> {
    let done = AtomicUsize::new(0);
    let tell = |py: Python<'_>| match (&progress, done.swap(0, Ordering::Relaxed)) {
        (Some(progress), count @ 1..) => progress.call1(py, (count,)).map(drop),
        _ => Ok(()),
    };
    let (answer, raised) = watch::watched(py, tell, |goes_on| {
        search(&|count: usize| {
            done.fetch_add(count, Ordering::Relaxed);
            goes_on()
        })
    });
    raised.map_or(Ok(answer), Err)
}

/// Takes paths from the user: for each connection a list of paths, each a list of node names or of link names.
#[pyfunction]
fn given_paths(
    network: &PyNetwork,
    demands: &PyDemands,
    paths: Vec<Vec<Vec<String>>>,
    by_links: bool,
) -> PyResult<PyPaths> {
    let connections = demands.0.connections();
    if paths.len() != connections.len() {
        let (given, wanted) = (paths.len(), connections.len());
        return Err(value_error(format!("paths of {given} connections for {wanted}; give a list for each")));
    }
    let mut found = Paths::new();
    for (connection, own) in connections.iter().zip(&paths) {
        let mut resolved: Vec<Vec<LinkId>> = Vec::with_capacity(own.len());
        for (i, names) in own.iter().enumerate() {
            let place = format!("connection `{}`, path {}", connection.name, i + 1);
            let resolve = if by_links { links_named } else { links_along };
            let links = resolve(&network.0, names, &place).map_err(value_error)?;
            check_path(&network.0, &links, connection.source, connection.target, &place).map_err(value_error)?;
            resolved.push(links);
        }
        found.push_connection(resolved);
    }
    Ok(PyPaths(Arc::new(found)))
}

/// The elements that paths of one group share: "links" or "nodes".
pub fn sharing_named(name: &str) -> PyResult<Sharing> {
    match name {
        "links" => Ok(Sharing::Links),
        "nodes" => Ok(Sharing::Nodes),
        _ => Err(value_error(format!("sharing is \"{name}\"; it must be \"links\" or \"nodes\""))),
    }
}

/// The group of each path, numbered separately for each connection, or over all of them together.
///
/// `sharing` is "links" or "nodes"; the links named in `without` do not count as shared.
#[pyfunction]
fn groups<'py>(
    py: Python<'py>,
    network: &PyNetwork,
    paths: &PyPaths,
    sharing: &str,
    without: Vec<String>,
    together: bool,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let sharing = sharing_named(sharing)?;
    let (network, paths) = (&network.0, &paths.0);
    let without = links_named(network, &without, "links to leave out").map_err(value_error)?;
    let found = py.detach(|| {
        if together {
            let all = (0..paths.len()).map(|path| paths.path(path));
            GroupSearch::new(network, sharing, &without).groups(all)
        } else {
            paths::groups(network, paths, sharing, &without)
        }
    });
    Ok(found.into_pyarray(py))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPaths>()?;
    module.add_function(wrap_pyfunction!(find_paths, module)?)?;
    module.add_function(wrap_pyfunction!(given_paths, module)?)?;
    module.add_function(wrap_pyfunction!(groups, module)?)
}
