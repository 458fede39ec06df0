//! Tables for Python: arrays by the names of columns.

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

/// Puts what was sampled into a table, with a row for each sample; nothing if it was not recorded.
pub fn put_samples<T: numpy::Element + Clone>(
    table: &Bound<'_, PyDict>,
    name: &str,
    values: &[T],
    samples: usize,
) -> PyResult<()> {
    if values.is_empty() {
        return Ok(());
    }
    let things = values.len() / samples;
    table.set_item(name, values.to_vec().into_pyarray(table.py()).reshape([samples, things])?)
}

/// Puts fields of samples into a table, under their own names.
macro_rules! put_sampled {
    ($table:expr, $samples:expr, $($field:ident),+ $(,)?) => {{
        let count = $samples.time_s.len();
        $($crate::columns::put_samples($table, stringify!($field), &$samples.$field, count)?;)+
    }};
}

/// Puts what is sampled of runs into a table, whether they are simulated or live: `time_s`, and arrays of a row for each
/// sample and a column for each thing.
macro_rules! put_series {
    ($table:expr, $samples:expr) => {{
        $crate::columns::put($table, "time_s", $samples.time_s.iter().copied())?;
        $crate::columns::put_sampled!(
            $table,
            $samples,
            connection_granted_bps,
            connection_delivered_bps,
            subflow_granted_bps,
            subflow_delivered_bps,
            subflow_window_bytes,
            subflow_rtt_s,
            subflow_pace_bps,
            link_granted_bps,
            link_carried_bps,
            link_capacity_bps,
            link_backlog_bytes,
            link_peak_packets,
        );
    }};
}

pub(crate) use {put_sampled, put_series};
