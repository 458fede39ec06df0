//! Filters of paths, and the links that packets take because of them.

use anabranch_core::{Network, Paths};
use anabranch_psi::{Identities, IdentityParameters, Ones, expected_strays, filter_of, forward};
use pyo3::prelude::*;

use crate::network::{PyNetwork, value_error};
use crate::paths::PyPaths;

/// Columns with a value for each path: table and fill of its filter, expected stray links, actual stray links.
type Columns = (Vec<Option<u8>>, Vec<Option<f64>>, Vec<f64>, Vec<Option<usize>>);

/// The filter of each path: its table, its fill, the expected and the actual number of stray links.
///
/// A value is None where the path is too long for a filter.
#[pyfunction]
fn filters(
    py: Python<'_>,
    network: &PyNetwork,
    paths: &PyPaths,
    bits: u64,
    ones: u64,
    tables: u64,
    seed: u64,
) -> PyResult<Columns> {
    let (bits, ones, tables) = (small("bits", bits)?, small("ones", ones)?, small("tables", tables)?);
    let parameters = IdentityParameters { bits, ones: Ones::Each(ones), tables, seed, ..IdentityParameters::default() };
    let identities = Identities::new(network.0.links().len(), parameters).map_err(value_error)?;
    Ok(py.detach(|| columns(&network.0, &paths.0, &identities)))
}

fn small(name: &str, count: u64) -> PyResult<u32> {
    u32::try_from(count).map_err(|_| value_error(format!("{name} is {count}; it must be under 2^32")))
}

fn columns(network: &Network, paths: &Paths, identities: &Identities) -> Columns {
    let mut columns = Columns::default();
    for path in (0..paths.len()).map(|number| paths.path(number)) {
        let filter = filter_of(network, identities, path).ok();
        columns.0.push(filter.map(|filter| filter.table));
        columns.1.push(filter.map(|filter| filter.fill(identities)));
        columns.2.push(expected_strays(network, identities, path));
        columns.3.push(filter.and_then(|filter| {
            let journey = forward(network, identities, &filter, network.link(path[0]).source);
            journey.ok().map(|journey| journey.strays(path))
        }));
    }
    columns
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(filters, module)?)
}
