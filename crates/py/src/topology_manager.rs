//! A topology manager, which maintains the paths of requests while links fail and return.

use std::sync::Arc;

use anabranch_core::paths::links_named;
use anabranch_core::{LinkId, Network, NodeId};
use anabranch_psi::{Filter, Identities, IdentityParameters, PathId, PathRecord, RequestId, TopologyManager};
use pyo3::prelude::*;

use crate::network::{PyNetwork, value_error};
use crate::paths::sharing_named;

/// A record: number, publisher, links, group, whether there is a way back, table and fill of the forward and reverse
/// filters.
type Record = (u64, u32, Vec<u32>, u32, bool, Option<(u8, f64)>, Option<(u8, f64)>);

/// The paths of many requests on one network.
#[pyclass(name = "TopologyManager", module = "anabranch._core")]
pub struct PyTopologyManager(TopologyManager);

#[pymethods]
impl PyTopologyManager {
    /// Makes a manager. `sharing` is "links" or "nodes"; the links named in `without` do not count as shared.
    #[new]
    fn new(network: &PyNetwork, sharing: &str, without: Vec<String>, seed: u64) -> PyResult<Self> {
        let network: &Arc<Network> = &network.0;
        let without = links_named(network, &without, "links to leave out").map_err(value_error)?;
        let parameters = IdentityParameters { seed, ..IdentityParameters::default() };
        let identities = Identities::new(network.links().len(), parameters).map_err(value_error)?;
        let (network, identities) = (Arc::clone(network), Arc::new(identities));
        let manager = TopologyManager::new(network, identities, sharing_named(sharing)?, &without);
        manager.map(Self).map_err(value_error)
    }

    fn request(&mut self, py: Python<'_>, receiver: u32, publishers: Vec<u32>, count: usize) -> PyResult<u64> {
        let publishers = nodes(&publishers);
        let request = py.detach(|| self.0.request(NodeId(receiver), &publishers, count));
        request.map(|id| id.0).map_err(value_error)
    }

    fn end(&mut self, request: u64) -> PyResult<()> {
        self.0.end(RequestId(request)).map_err(value_error)
    }

    fn requests(&self) -> Vec<u64> {
        self.0.requests().map(|id| id.0).collect()
    }

    fn records(&self, request: u64) -> PyResult<Vec<Record>> {
        let records = self.0.records(RequestId(request)).map_err(value_error)?;
        Ok(records.into_iter().map(|record| converted(record, self.0.identities())).collect())
    }

    fn fail(&mut self, link: &str) -> PyResult<Vec<u64>> {
        let link = self.link(link)?;
        numbers(self.0.fail(link))
    }

    fn restore(&mut self, link: &str) -> PyResult<Vec<u64>> {
        let link = self.link(link)?;
        numbers(self.0.restore(link))
    }

    fn add_path(&mut self, request: u64, links: Vec<String>) -> PyResult<u64> {
        let links = links_named(self.0.network(), &links, &format!("request {request}")).map_err(value_error)?;
        self.0.add_path(RequestId(request), &links).map(|path| path.0).map_err(value_error)
    }

    fn remove_path(&mut self, request: u64, path: u64) -> PyResult<()> {
        self.0.remove_path(RequestId(request), PathId(path)).map_err(value_error)
    }

    fn set_publishers(&mut self, py: Python<'_>, request: u64, publishers: Vec<u32>) -> PyResult<()> {
        let publishers = nodes(&publishers);
        py.detach(|| self.0.set_publishers(RequestId(request), &publishers)).map_err(value_error)
    }

    fn find_again(&mut self, py: Python<'_>, request: u64) -> PyResult<bool> {
        py.detach(|| self.0.find_again(RequestId(request))).map_err(value_error)
    }
}

impl PyTopologyManager {
    fn link(&self, name: &str) -> PyResult<LinkId> {
        let unknown = || value_error(format!("there is no link `{name}`; name one of the network's links"));
        self.0.network().find_link(name).ok_or_else(unknown)
    }
}

fn nodes(numbers: &[u32]) -> Vec<NodeId> {
    numbers.iter().map(|&node| NodeId(node)).collect()
}

fn numbers(changed: Result<Vec<RequestId>, anabranch_psi::TopologyError>) -> PyResult<Vec<u64>> {
    changed.map(|requests| requests.iter().map(|id| id.0).collect()).map_err(value_error)
}

fn converted(record: PathRecord, identities: &Identities) -> Record {
    let filter = |filter: Option<Filter>| filter.map(|filter| (filter.table, filter.fill(identities)));
    (
        record.path.0,
        record.publisher.0,
        record.links.iter().map(|link| link.0).collect(),
        record.group,
        record.back.is_some(),
        filter(record.forward),
        filter(record.reverse),
    )
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTopologyManager>()
}
