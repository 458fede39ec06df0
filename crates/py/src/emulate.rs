//! The network of a plan in real time, and programs in its hosts.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};

use anabranch_core::{ConnectionId, Network, NodeId};
use anabranch_emulator::{Lab, LabError, LinkReport, Options, Report, lab_refusal};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::network::value_error;
use crate::scenario::PyPlan;

/// A lab until its end, and the programs that were started in it.
#[pyclass(frozen, name = "Lab", module = "anabranch._core")]
struct PyLab {
    lab: Mutex<Option<Lab>>,
    programs: Mutex<Vec<Child>>,
    network: Arc<Network>,
    paths: Vec<LabPath>,
}

/// A path: its connection, and the name and address of each end.
#[pyclass(frozen, get_all, module = "anabranch._core")]
#[derive(Clone)]
struct LabPath {
    connection: String,
    source: String,
    source_address: String,
    target: String,
    target_address: String,
}

pub(crate) fn lab_error(error: &LabError) -> PyErr {
    match error {
        LabError::Host { .. } | LabError::Thread(_) => PyOSError::new_err(error.to_string()),
        _ => value_error(error),
    }
}

#[pymethods]
impl PyLab {
    /// Makes the hosts and begins to move packets between them.
    #[new]
    fn new(py: Python<'_>, plan: &PyPlan, mtu: u32) -> PyResult<Self> {
        let lab = py
            .detach(|| Lab::start(&plan.0, Options { mtu, ..Options::default() }))
            .map_err(|error| lab_error(&error))?;
        let paths = paths(&plan.0, &lab);
        Ok(Self { lab: Mutex::new(Some(lab)), programs: Mutex::default(), network: plan.0.network.clone(), paths })
    }

    /// The reason why the kernel refuses a lab here.
    #[staticmethod]
    fn refusal(py: Python<'_>) -> Option<String> {
        py.detach(lab_refusal)
    }

    #[getter]
    fn paths(&self) -> Vec<LabPath> {
        self.paths.clone()
    }

    /// Starts a command line in the host of a node, as a process group; returns the number of the group.
    ///
    /// With `aside`, its standard output goes to standard error.
    fn start(&self, node: &str, line: &str, environment: Vec<(String, String)>, aside: bool) -> PyResult<u32> {
        let lab = self.lab();
        let host = self.network.find_node(node).and_then(|node| lab.as_ref()?.host(node));
        let reason =
            || value_error(format!("node `{node}`: no path begins or ends there, so there is no host; name another"));
        let host = host.ok_or_else(reason)?;
        let mut command = Command::new("sh");
        command.args(["-c", line]).envs(environment).stdin(Stdio::null()).process_group(0);
        if aside {
            command.stdout(io::stderr());
        }
        let child = host.command(command)?;
        let group = child.id();
        self.programs().push(child);
        Ok(group)
    }

    /// The exit code of each program that was started: negative if a signal ended it, `None` while it runs.
    fn codes(&self) -> PyResult<Vec<Option<i32>>> {
        let mut programs = self.programs();
        let code = |status: std::process::ExitStatus| status.code().or(status.signal().map(|signal| -signal));
        let codes = programs.iter_mut().map(|child| Ok(child.try_wait()?.and_then(code)));
        codes.collect()
    }

    /// Ends the lab, and returns its report; `None` if it ended earlier.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let lab = self.lab().take();
        let Some(report) = py.detach(|| lab.map(Lab::finish)) else { return Ok(None) };
        report_of(py, &report).map(Some)
    }
}

impl PyLab {
    fn lab(&self) -> MutexGuard<'_, Option<Lab>> {
        self.lab.lock().expect("no holder panics")
    }

    fn programs(&self) -> MutexGuard<'_, Vec<Child>> {
        self.programs.lock().expect("no holder panics")
    }
}

fn paths(plan: &anabranch_plan::Plan, lab: &Lab) -> Vec<LabPath> {
    let mut paths = Vec::with_capacity(plan.paths.len());
    for (c, connection) in plan.demands.connections().iter().enumerate() {
        for links in plan.paths.of(ConnectionId::new(c)) {
            let (from, to) = lab.addresses(paths.len());
            let name = |node: NodeId| plan.network.node(node).name.clone();
            paths.push(LabPath {
                connection: connection.name.clone(),
                source: name(plan.network.link(links[0]).source),
                source_address: from.to_string(),
                target: name(plan.network.link(links[links.len() - 1]).target),
                target_address: to.to_string(),
            });
        }
    }
    paths
}

pub(crate) fn report_of<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("lasted_s", report.lasted.seconds())?;
    all.set_item("is_valid", report.is_valid())?;
    all.set_item("faults", &report.faults)?;
    all.set_item("delivered_packets", report.delivered)?;
    for (name, value) in [
        ("lateness_p50_s", report.lateness.p50),
        ("lateness_p99_s", report.lateness.p99),
        ("lateness_max_s", report.lateness.max),
        ("busy_s", report.busy),
    ] {
        all.set_item(name, value.seconds())?;
    }
    all.set_item("has_precedence", report.has_precedence)?;
    all.set_item("strangers", report.strangers)?;
    let link = |link: &LinkReport| {
        let row = PyDict::new(py);
        row.set_item("link", &link.link)?;
        row.set_item("packets", link.packets)?;
        row.set_item("bytes", link.bytes)?;
        row.set_item("dropped", link.dropped)?;
        row.set_item("marked", link.marked)?;
        row.set_item("most_packets", link.most_packets)?;
        Ok(row)
    };
    all.set_item("links", report.links.iter().map(link).collect::<PyResult<Vec<_>>>()?)?;
    Ok(all)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LabPath>()?;
    module.add_class::<PyLab>()
}
