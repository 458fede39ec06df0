//! Simulations of a plan, and their outcomes as columns.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;

use anabranch_core::Samples;
use anabranch_plan::ControlPlane;
use anabranch_proto::Protocol;
use anabranch_proto::protocols::{Claims, Demands, PROTOCOLS};
use anabranch_queues::QUEUES;
use anabranch_sim::{Onlooker, Outcome, Progress, QUANTILES, Threads};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{put, sample_table};
use crate::scenario::PyPlan;
use crate::watch::watched;

/// The outcome of a run, with tables as columns by name. Times of events that never happened are infinite.
#[pyclass(frozen, name = "Outcome", module = "anabranch._core")]
struct PyOutcome(Outcome);

#[pymethods]
impl PyOutcome {
    #[getter]
    fn threads(&self) -> u32 {
        self.0.threads
    }

    #[getter]
    fn is_whole(&self) -> bool {
        self.0.is_whole
    }

    #[getter]
    fn reached_s(&self) -> f64 {
        self.0.reached.seconds()
    }

    #[getter]
    fn events(&self) -> u64 {
        self.0.events
    }

    #[getter]
    fn hops(&self) -> u64 {
        self.0.hops
    }

    #[getter]
    fn under_way(&self) -> u64 {
        self.0.under_way
    }

    #[getter]
    fn bad_grants(&self) -> u64 {
        self.0.bad_grants
    }

    #[getter]
    fn links_not_clear(&self) -> u64 {
        self.0.links_not_clear
    }

    fn connections<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let all = &self.0.connections;
        put(&table, "stopped_s", all.iter().map(|c| c.stopped_s))?;
        put(&table, "finished_s", all.iter().map(|c| c.finished_s))?;
        put(&table, "left_s", all.iter().map(|c| c.left_s))?;
        Ok(table)
    }

    fn subflows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let all = &self.0.subflows;
        put(&table, "connection", all.iter().map(|s| s.connection))?;
        put(&table, "sent_bytes", all.iter().map(|s| s.sent))?;
        put(&table, "delivered_bytes", all.iter().map(|s| s.delivered))?;
        put(&table, "lost_bytes", all.iter().map(|s| s.lost))?;
        put(&table, "repeated_bytes", all.iter().map(|s| s.repeated))?;
        put(&table, "marked", all.iter().map(|s| s.marked))?;
        put(&table, "strays", all.iter().map(|s| s.strays))?;
        put(&table, "delivered_warm_bytes", all.iter().map(|s| s.delivered_warm))?;
        put(&table, "mean_delay_s", all.iter().map(|s| s.mean_delay_s))?;
        put(&table, "most_delay_s", all.iter().map(|s| s.most_delay_s))?;
        put(&table, "control_packets", all.iter().map(|s| s.control.sent))?;
        put(&table, "bottleneck_sets", all.iter().map(|s| s.control.sets))?;
        put(&table, "bottlenecks", all.iter().map(|s| s.control.bottlenecks))?;
        put(&table, "most_bottlenecks", all.iter().map(|s| s.control.most_bottlenecks))?;
        Ok(table)
    }

    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let all = &self.0.links;
        put(&table, "bytes", all.iter().map(|l| l.totals.sent))?;
        put(&table, "dropped", all.iter().map(|l| l.totals.dropped))?;
        put(&table, "most_packets", all.iter().map(|l| l.totals.most_packets))?;
        put(&table, "most_wait_s", all.iter().map(|l| l.totals.longest_wait as f64 / 1e12))?;
        put(&table, "warm_bytes", all.iter().map(|l| l.sent_warm))?;
        put(&table, "control_packets", all.iter().map(|l| l.control_packets))?;
        Ok(table)
    }

    /// The samples: `time_s`, and arrays with a row for each sample and a column for each item.
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        sample_table(py, &self.0.samples)
    }

    /// The waits of data packets by number of the `"link"` or `"subflow"`, if they were recorded.
    fn waits<'py>(&self, py: Python<'py>, of: &str) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let all = if of == "link" { &self.0.link_waits } else { &self.0.subflow_waits };
        put(&table, "id", all.iter().map(|wait| wait.id))?;
        put(&table, "packets", all.iter().map(|wait| wait.packets))?;
        put(&table, "mean_s", all.iter().map(|wait| wait.mean))?;
        put(&table, "least_s", all.iter().map(|wait| wait.least))?;
        for (i, quantile) in QUANTILES.iter().enumerate() {
            put(&table, &format!("p{}_s", (quantile * 100.0).round()), all.iter().map(|wait| wait.quantiles[i]))?;
        }
        put(&table, "most_s", all.iter().map(|wait| wait.most))?;
        Ok(table)
    }

    fn grants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        let all = &self.0.grants;
        put(&table, "time_s", all.iter().map(|g| g.time.seconds()))?;
        put(&table, "subflow", all.iter().map(|g| g.subflow))?;
        put(&table, "granted_bps", all.iter().map(|g| g.rate.0))?;
        Ok(table)
    }
}

#[pymethods]
impl PyPlan {
    /// The memory that a run needs: what takes it, the number of bytes, and a remedy.
    fn memory(&self, py: Python<'_>) -> Vec<(String, u64, &'static str)> {
        let parts = py.detach(|| anabranch_sim::memory(&self.0));
        parts.into_iter().map(|part| (part.what, part.bytes, part.remedy)).collect()
    }

    /// The time at the start that means leave out.
    #[getter]
    fn warm_up_s(&self) -> f64 {
        self.0.run.warm_up.seconds()
    }

    #[getter]
    fn sample_s(&self) -> f64 {
        self.0.run.sample.seconds()
    }

    /// Whether data packets are sent.
    #[getter]
    fn has_data(&self) -> bool {
        self.0.run.data
    }

    /// The size of control packets.
    #[getter]
    fn control_packet_bytes(&self) -> u64 {
        self.0.run.control_packet.0
    }

    /// Whether control packets wait in the queues of data packets.
    #[getter]
    fn control_is_in_band(&self) -> bool {
        self.0.run.control == ControlPlane::InBand
    }

    /// Whether the waits of packets are recorded.
    #[getter]
    fn has_waits(&self) -> bool {
        self.0.run.record.waits
    }

    /// Whether every change of a granted rate is recorded.
    #[getter]
    fn has_grants(&self) -> bool {
        self.0.run.record.grants
    }

    /// Changes of capacity in the order of links and times: link, seconds, and bit/s from then on.
    #[getter]
    fn capacity_changes(&self) -> Vec<(usize, f64, f64)> {
        let all = self.0.links.iter().enumerate();
        all.flat_map(|(l, link)| link.changes.iter().map(move |(time, rate)| (l, time.seconds(), rate.0))).collect()
    }
}

/// Runs a plan; returns its outcome, and the exception from `progress`, `samples` or Ctrl-C if one ended the run early.
///
/// `progress` is called with the simulated time in seconds and the number of events. `samples` is called with the
/// samples since its last call, as tables; the last samples come only with the outcome. The number of `threads` and the
/// callbacks affect only the time that the run takes. Without `threads` the run uses several where that is faster by
/// the clock, at most one for each processor of the process.
#[pyfunction]
#[pyo3(signature = (plan, threads, progress=None, samples=None))]
fn simulate(
    py: Python<'_>,
    plan: &PyPlan,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    samples: Option<Py<PyAny>>,
) -> (PyOutcome, Option<PyErr>) {
    let may_use = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.map_or_else(|| Threads::IfSpare(may_use()), Threads::Exactly);
    let latest = Mutex::new(None);
    let fresh = Mutex::new(None);
    let tell = |py: Python<'_>| {
        let new = fresh.lock().expect("no holder panics").take();
        if let (Some(samples), Some(new)) = (&samples, new) {
            samples.call1(py, (sample_table(py, &new)?,))?;
        }
        match (&progress, latest.lock().expect("no holder panics").take()) {
            (Some(progress), Some(Progress { time_s, events })) => progress.call1(py, (time_s, events)).map(drop),
            _ => Ok(()),
        }
    };
    let is_seen = samples.is_some();
    let (outcome, raised) = watched(py, tell, |goes_on| {
        let mut count = 0;
        let mut look = |all: &Samples| {
            let mut fresh = fresh.lock().expect("no holder panics");
            // Samples that were not passed yet wait for the next call, so that none are copied needlessly.
            if fresh.is_none() {
                *fresh = Some(all.after(count));
                count = all.time_s.len();
            }
        };
        let onlooker: Option<Onlooker<'_>> = if is_seen { Some(&mut look) } else { None };
        let mut watch = |progress| {
            *latest.lock().expect("no holder panics") = Some(progress);
            goes_on()
        };
        anabranch_sim::simulate_seen(&plan.0, threads, &mut watch, onlooker)
    });
    (PyOutcome(outcome), raised)
}

/// An entry of a list: name in files, readable name, summary, family, module of the code.
type Entry = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// The entry of each protocol.
#[pyfunction]
fn protocols() -> Vec<Entry> {
    PROTOCOLS.map(|(name, title, does, family, module)| (name, title, does, family.title(), module)).to_vec()
}

/// The families of protocols in the order in which they are listed.
#[pyfunction]
fn protocol_families() -> Vec<&'static str> {
    anabranch_proto::protocols::Family::ALL.map(anabranch_proto::protocols::Family::title).to_vec()
}

/// What the protocol of this name can serve, as statements; None if there is no such protocol.
#[pyfunction]
fn protocol_capabilities(name: &str) -> Option<BTreeMap<&'static str, bool>> {
    let protocol = Protocol::named(name)?;
    let capabilities = protocol.capabilities();
    Some(BTreeMap::from([
        ("many_paths", capabilities.serves_many_paths()),
        ("is_joint", capabilities.is_joint()),
        ("usually_one_path", protocol.usual_paths() == 1),
        ("weighted", matches!(capabilities.claims, Claims::Weighted { .. })),
        ("reserves", protocol.reserves()),
        ("demands_as_links", capabilities.demands == Demands::AsLinks),
        ("hears_capacities", capabilities.hears_capacities),
        ("keeps_windows", capabilities.keeps_windows()),
        ("has_headers", capabilities.has_headers()),
        ("hears_groups", capabilities.hears_groups()),
        ("is_scalable", capabilities.is_scalable()),
    ]))
}

/// The entry of each queue discipline.
#[pyfunction]
fn disciplines() -> Vec<Entry> {
    QUEUES.map(|(name, title, does, family, module)| (name, title, does, family.title(), module)).to_vec()
}

/// The families of queue disciplines in the order in which they are listed.
#[pyfunction]
fn discipline_families() -> Vec<&'static str> {
    anabranch_queues::Family::ALL.map(anabranch_queues::Family::title).to_vec()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyOutcome>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(disciplines, module)?)?;
    module.add_function(wrap_pyfunction!(discipline_families, module)?)?;
    module.add_function(wrap_pyfunction!(protocol_families, module)?)?;
    module.add_function(wrap_pyfunction!(protocol_capabilities, module)?)?;
    module.add_function(wrap_pyfunction!(protocols, module)?)
}
