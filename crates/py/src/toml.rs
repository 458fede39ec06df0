//! TOML texts: read as Python values, and edited.

use anabranch_scenario::{Edit, Value, edited, read_values};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::network::value_error;

/// Reads a TOML text; its tables become dicts in the order of the file.
#[pyfunction]
fn read_toml<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let table = py.detach(|| read_values(text)).map_err(value_error)?;
    dict(py, table)
}

fn dict(py: Python<'_>, table: Vec<(String, Value)>) -> PyResult<Bound<'_, PyDict>> {
    let own = PyDict::new(py);
    for (key, value) in table {
        own.set_item(key, plain(py, value)?)?;
    }
    Ok(own)
}

fn plain(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        Value::Whole(number) => number.into_pyobject(py)?.into_any(),
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Truth(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::List(list) => {
            let own = PyList::empty(py);
            for value in list {
                own.append(plain(py, value)?)?;
            }
            own.into_any()
        }
        Value::Table(table) => dict(py, table)?.into_any(),
    })
}

/// Returns the text after each edit: a path of keys and numbers, and a value as TOML text, or nothing to remove.
#[pyfunction]
fn edit_toml(py: Python<'_>, text: &str, edits: Vec<Edit>) -> PyResult<String> {
    py.detach(|| edited(text, &edits)).map_err(value_error)
}

/// Returns the keys and numbers that lead to what is at a line and a column, both counted from 1.
#[pyfunction]
fn key_at(py: Python<'_>, text: &str, line: usize, column: usize) -> Option<Vec<String>> {
    py.detach(|| anabranch_scenario::key_at(text, line, column))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_toml, module)?)?;
    module.add_function(wrap_pyfunction!(edit_toml, module)?)?;
    module.add_function(wrap_pyfunction!(key_at, module)?)
}
