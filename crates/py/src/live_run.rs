//! Live runs of a plan, and their outcomes as columns.

use std::sync::Mutex;

use anabranch_live::run::{Outcome, Progress, RelayTotal, RunError, packet_size, run, unsupported};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyConnectionError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{put, sample_table};
use crate::emulate::{lab_error, report_of};
use crate::network::value_error;
use crate::scenario::PyPlan;
use crate::watch::watched;

/// The outcome of a live run, with tables as columns by name, as for a simulation. Times of events that never happened
/// are infinite, and unknown values are NaN.
#[pyclass(frozen, name = "LiveOutcome", module = "anabranch._core")]
struct PyLiveOutcome(Outcome);

#[pymethods]
impl PyLiveOutcome {
    #[getter]
    fn is_whole(&self) -> bool {
        self.0.is_whole
    }

    #[getter]
    fn reached_s(&self) -> f64 {
        self.0.reached.seconds()
    }

    #[getter]
    fn hops(&self) -> u64 {
        self.0.hops
    }

    /// The data that arrived on each connection, without headers.
    #[getter]
    fn data_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.0.connections.iter().map(|c| c.data_bytes).collect::<Vec<_>>().into_pyarray(py)
    }

    fn connections<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        for name in ["stopped_s", "finished_s", "left_s"] {
            put(&table, name, self.0.connections.iter().map(|c| c.finished_s))?;
        }
        Ok(table)
    }

    fn subflows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let all = &self.0.subflows;
        put(&table, "connection", all.iter().map(|s| s.connection))?;
        put(&table, "sent_bytes", all.iter().map(|s| s.count.sent))?;
        put(&table, "delivered_bytes", all.iter().map(|s| s.count.delivered))?;
        put(&table, "lost_bytes", all.iter().map(|s| s.count.lost))?;
        put(&table, "repeated_bytes", all.iter().map(|_| f64::NAN))?;
        put(&table, "marked", all.iter().map(|s| s.count.marked))?;
        put(&table, "strays", all.iter().map(|_| 0_u64))?;
        put(&table, "delivered_warm_bytes", all.iter().map(|s| s.delivered_warm))?;
        let mean = |delays: u128, packets: u64| delays as f64 / 1e12 / packets.max(1) as f64;
        put(&table, "mean_delay_s", all.iter().map(|s| mean(s.count.delays, s.count.packets)))?;
        put(&table, "most_delay_s", all.iter().map(|s| s.count.most_delay as f64 / 1e12))?;
        put(&table, "control_packets", all.iter().map(|_| f64::NAN))?;
        for name in ["bottleneck_sets", "bottlenecks", "most_bottlenecks"] {
            put(&table, name, all.iter().map(|_| 0_u64))?;
        }
        Ok(table)
    }

    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let all = &self.0.links;
        put(&table, "bytes", all.iter().map(|l| l.sent))?;
        put(&table, "dropped", all.iter().map(|l| l.dropped))?;
        put(&table, "most_packets", all.iter().map(|l| l.most_packets))?;
        put(&table, "most_wait_s", all.iter().map(|l| l.most_wait as f64 / 1e12))?;
        put(&table, "warm_bytes", all.iter().map(|l| l.sent_warm))?;
        put(&table, "control_packets", all.iter().map(|_| f64::NAN))?;
        Ok(table)
    }

    /// The loops that end at a relay: number of the loop's connection, number of the next loop's, size of the buffer in
    /// bytes, and greatest backlog.
    #[getter]
    fn relays(&self) -> Vec<(usize, usize, u64, u64)> {
        let row = |own: &RelayTotal| (own.input.index(), own.connection.index(), own.buffer, own.most_waiting);
        self.0.relays.iter().map(row).collect()
    }

    /// The samples: `time_s`, and arrays with a row for each sample and a column for each item.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        sample_table(py, &self.0.samples)
    }

    /// The counters of agents that act for links; `None` if there are none.
    fn agents<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(total) = self.0.agents else { return Ok(None) };
        let (table, counts) = (PyDict::new(py), total.counts);
        table.set_item("agents", total.agents)?;
        table.set_item("counted", counts.counted)?;
        table.set_item("stale", counts.stale)?;
        table.set_item("lost", counts.lost)?;
        table.set_item("refused", counts.refused)?;
        table.set_item("overdue", counts.overdue)?;
        table.set_item("unknown", counts.unknown)?;
        table.set_item("false_messages", counts.false_messages)?;
        table.set_item("given_up", counts.given_up)?;
        table.set_item("renewals", counts.renewals)?;
        table.set_item("lapsed", counts.lapsed)?;
        table.set_item("is_clear", total.is_clear)?;
        Ok(Some(table))
    }

    /// The punctuality of the run, with the values for a lab, and `ends_lateness_p99_s`.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = report_of(py, &self.0.report)?;
        report.set_item("ends_lateness_p99_s", self.0.ends_late.seconds())?;
        Ok(report)
    }
}

#[pymethods]
impl PyPlan {
    /// The reasons why the plan cannot run live; empty if it can.
    fn live_refusals(&self) -> Vec<String> {
        unsupported(&self.0)
    }

    /// The packet size of each connection in a live run.
    #[getter]
    fn live_packet_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let bytes = self.0.transfers.iter().map(|t| packet_size(t.packet.0) as f64);
        bytes.collect::<Vec<_>>().into_pyarray(py)
    }
}

/// A `ValueError` for a mistake in the plan, an `OSError` for a failure of the kernel or the network.
fn run_error(error: &RunError) -> PyErr {
    match error {
        RunError::Refused(_) => value_error(error),
        RunError::Lab(error) => lab_error(error),
        RunError::NoThreads(_) => PyOSError::new_err(error.to_string()),
        RunError::NoAgent { .. } | RunError::NoConnection { .. } | RunError::Failed { .. } | RunError::Ended => {
            PyConnectionError::new_err(error.to_string())
        }
    }
}

/// Runs a plan live; returns its outcome, and the exception from `progress` or Ctrl-C if one ended the run early.
///
/// `progress` is called with the time in seconds and the number of packets that entered a link.
#[pyfunction]
#[pyo3(signature = (plan, progress=None))]
fn run_live(py: Python<'_>, plan: &PyPlan, progress: Option<Py<PyAny>>) -> PyResult<(PyLiveOutcome, Option<PyErr>)> {
    let latest = Mutex::new(None);
    let tell = |py: Python<'_>| match (&progress, latest.lock().expect("no holder panics").take()) {
        (Some(progress), Some(Progress { time_s, packets })) => progress.call1(py, (time_s, packets)).map(drop),
        _ => Ok(()),
    };
    let (outcome, raised) = watched(py, tell, |goes_on| {
        let mut watch = |progress| {
            *latest.lock().expect("no holder panics") = Some(progress);
            goes_on()
        };
        run(&plan.0, &mut watch)
    });
    Ok((PyLiveOutcome(outcome.map_err(|error| run_error(&error))?), raised))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLiveOutcome>()?;
    module.add_function(wrap_pyfunction!(run_live, module)?)
}
