//! Tables for Python: arrays by column name.

use anabranch_core::Samples;
use anabranch_core::samples::{COLUMNS, Column, Kind, Values};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Adds a column to a table.
pub fn put<T: numpy::Element>(
    table: &Bound<'_, PyDict>,
    name: &str,
    values: impl IntoIterator<Item = T>,
) -> PyResult<()> {
    let column: Vec<T> = values.into_iter().collect();
    table.set_item(name, column.into_pyarray(table.py()))
}

/// Samples as a table, with `time_s` and each recorded column by its key. An array has a row for each sample and a
/// column for each item, or one value for each sample if it describes the run.
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

/// Adds a column of samples to a table, if it was recorded.
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

/// The kind of item, the name, the unit and the type of each column that can be sampled.
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
