//! Tables for Python: arrays by the names of columns.

use anabranch_core::Samples;
use anabranch_core::samples::{COLUMNS, Column, Kind, Values};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Puts a column into a table.
pub fn put<T: numpy::Element>(
    table: &Bound<'_, PyDict>,
    name: &str,
    values: impl IntoIterator<Item = T>,
) -> PyResult<()> {
    let column: Vec<T> = values.into_iter().collect();
    table.set_item(name, column.into_pyarray(table.py()))
}

/// Samples as a table: `time_s`, and by its key each column that was recorded. An array has a row for each sample and a
/// column for each thing, or one value for each sample if it is of the run.
pub fn sample_table<'py>(py: Python<'py>, samples: &Samples) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    put(&table, "time_s", samples.time_s.iter().copied())?;
    let count = samples.time_s.len();
    for (column, values) in samples.columns() {
        match values {
            Values::F64(values) => put_column(&table, column, values, count)?,
            Values::U64(values) => put_column(&table, column, values, count)?,
            Values::U32(values) => put_column(&table, column, values, count)?,
        }
    }
    Ok(table)
}

/// Puts a column of samples into a table; nothing if it was not recorded.
fn put_column<T: numpy::Element + Copy>(
    table: &Bound<'_, PyDict>,
    column: &Column,
    values: &[T],
    samples: usize,
) -> PyResult<()> {
    if values.is_empty() {
        return Ok(());
    }
    let array = values.to_vec().into_pyarray(table.py());
    if column.of.is_single() {
        return table.set_item(column.key(), array);
    }
    table.set_item(column.key(), array.reshape([samples, values.len() / samples])?)
}

/// Of each column that may be sampled: what it is of, its name, its unit and the type of its values.
fn columns() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    let kind = |kind| match kind {
        Kind::F64 => "f64",
        Kind::U64 => "u64",
        Kind::U32 => "u32",
    };
    COLUMNS.iter().map(|column| (column.of.name(), column.name, column.unit, kind(column.kind))).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("COLUMNS", columns())
}
