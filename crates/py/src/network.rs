//! Networks, demands and quantities.

use std::sync::Arc;

use anabranch_core::{Connection, Demands, LinkId, Network, NetworkBuilder, NodeId, Position, Rate, Span, Time};
use anabranch_core::{network::nearest, parse};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Converts any error of the crates to a `ValueError` with the same message.
pub fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn span(seconds: f64, what: &str) -> PyResult<Span> {
    Span::from_seconds(seconds)
        .ok_or_else(|| value_error(format!("{what} is {seconds} s; it must be 0 or more and under 213 days")))
}

/// A checked, immutable network.
#[pyclass(frozen, name = "Network", module = "anabranch._core")]
pub struct PyNetwork(pub Arc<Network>);

#[pymethods]
impl PyNetwork {
    /// Makes a network of one-way links. `twin[i]` is the number of link i's twin or -1; link names may be None.
    #[new]
    fn new(
        node_names: Vec<String>,
        positions: Vec<Option<(f64, f64)>>,
        link_names: Vec<Option<String>>,
        source: Vec<u32>,
        target: Vec<u32>,
        capacity_bps: Vec<f64>,
        delay_s: Vec<f64>,
        twin: Vec<i64>,
    ) -> PyResult<Self> {
        let mut builder = NetworkBuilder::new();
        for (i, name) in node_names.iter().enumerate() {
            let position = positions.get(i).copied().flatten();
            let position = position.map(|(longitude, latitude)| Position { longitude, latitude });
            builder.node(name, position).map_err(value_error)?;
        }
        let links = source.len();
        let lengths = [target.len(), capacity_bps.len(), delay_s.len(), link_names.len(), twin.len()];
        if lengths.iter().any(|&n| n != links) {
            return Err(value_error("link columns differ in length; give one value of each for every link"));
        }
        for i in 0..links {
            for end in [source[i], target[i]] {
                if end as usize >= node_names.len() {
                    let nodes = node_names.len();
                    return Err(value_error(format!("link {i}: there is no node number {end}; there are {nodes}")));
                }
            }
            let delay = span(delay_s[i], &format!("link {i}: delay"))?;
            let (from, to) = (NodeId(source[i]), NodeId(target[i]));
            builder.link(link_names[i].as_deref(), from, to, Rate(capacity_bps[i]), delay).map_err(value_error)?;
        }
        for (i, &back) in twin.iter().enumerate() {
            if back >= links as i64 {
                return Err(value_error(format!("link {i}: there is no link number {back} to be its twin")));
            }
            if back >= 0 {
                builder.twins(LinkId::new(i), LinkId::new(back as usize)).map_err(value_error)?;
            }
        }
        Ok(Self(Arc::new(builder.build())))
    }

    /// Makes a network of edges, each one-way or two-way (two links, each the other's twin).
    #[staticmethod]
    fn from_edges(
        node_names: Vec<String>,
        positions: Vec<Option<(f64, f64)>>,
        edge_names: Vec<Option<String>>,
        source: Vec<u32>,
        target: Vec<u32>,
        capacity_bps: Vec<f64>,
        delay_s: Vec<f64>,
        two_way: Vec<bool>,
    ) -> PyResult<Self> {
        let mut builder = NetworkBuilder::new();
        for (name, position) in node_names.iter().zip(positions) {
            let position = position.map(|(longitude, latitude)| Position { longitude, latitude });
            builder.node(name, position).map_err(value_error)?;
        }
        for i in 0..source.len() {
            let delay = span(delay_s[i], &format!("link {i}: delay"))?;
            let (name, capacity) = (edge_names[i].as_deref(), Rate(capacity_bps[i]));
            let (from, to) = (NodeId(source[i]), NodeId(target[i]));
            let made = if two_way[i] {
                builder.two_way(name, from, to, capacity, delay).map(|_| ())
            } else {
                builder.link(name, from, to, capacity, delay).map(|_| ())
            };
            made.map_err(value_error)?;
        }
        Ok(Self(Arc::new(builder.build())))
    }

    /// This network with other capacities.
    fn with_capacities(&self, capacity_bps: Vec<f64>) -> PyResult<Self> {
        if capacity_bps.len() != self.0.links().len() {
            let (given, links) = (capacity_bps.len(), self.0.links().len());
            return Err(value_error(format!("{given} capacities for {links} links; give one for each")));
        }
        let capacities: Vec<Rate> = capacity_bps.into_iter().map(Rate).collect();
        let network = Network::clone(&self.0).with_capacities(&capacities).map_err(value_error)?;
        Ok(Self(Arc::new(network)))
    }

    #[getter]
    fn node_names(&self) -> Vec<String> {
        self.0.nodes().iter().map(|n| n.name.clone()).collect()
    }

    #[getter]
    fn positions(&self) -> Vec<Option<(f64, f64)>> {
        self.0.nodes().iter().map(|n| n.position.map(|p| (p.longitude, p.latitude))).collect()
    }

    #[getter]
    fn link_names(&self) -> Vec<String> {
        self.0.links().iter().map(|l| l.name.clone()).collect()
    }

    #[getter]
    fn link_source<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.links().iter().map(|l| l.source.0).collect::<Vec<_>>().into_pyarray(py)
    }

    #[getter]
    fn link_target<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.links().iter().map(|l| l.target.0).collect::<Vec<_>>().into_pyarray(py)
    }

    #[getter]
    fn capacity_bps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.links().iter().map(|l| l.capacity.0).collect::<Vec<_>>().into_pyarray(py)
    }

    #[getter]
    fn delay_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.links().iter().map(|l| l.delay.seconds()).collect::<Vec<_>>().into_pyarray(py)
    }

    /// The number of each link's twin, or -1.
    #[getter]
    fn twin<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.links().iter().map(|l| l.twin.map_or(-1, |t| i64::from(t.0))).collect::<Vec<_>>().into_pyarray(py)
    }

    /// The number of the connected component of each node.
    fn parts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.parts().into_pyarray(py)
    }

    fn find_node(&self, name: &str) -> Option<u32> {
        self.0.find_node(name).map(|n| n.0)
    }

    fn find_link(&self, name: &str) -> Option<u32> {
        self.0.find_link(name).map(|l| l.0)
    }

    fn node_hint(&self, name: &str) -> String {
        self.0.node_hint(name)
    }
}

/// Connections, checked against a network and immutable.
#[pyclass(frozen, name = "Demands", module = "anabranch._core")]
pub struct PyDemands(pub Arc<Demands>);

#[pymethods]
impl PyDemands {
    /// Makes connections from columns with one value for each; an infinite demand or stop means none.
    #[new]
    fn new(
        network: &PyNetwork,
        names: Vec<String>,
        source: Vec<u32>,
        target: Vec<u32>,
        demand_bps: Vec<f64>,
        weight: Vec<f64>,
        qos: Vec<f64>,
        reserved_bps: Vec<f64>,
        start_s: Vec<f64>,
        stop_s: Vec<f64>,
    ) -> PyResult<Self> {
        let count = names.len();
        let lengths = [&demand_bps, &weight, &qos, &reserved_bps, &start_s, &stop_s].map(Vec::len).into_iter();
        let lengths = lengths.chain([source.len(), target.len()]);
        if lengths.into_iter().any(|n| n != count) {
            return Err(value_error("demand columns differ in length; give one value of each for every connection"));
        }
        let nodes = network.0.nodes().len();
        let time = |seconds: f64, name: &str, what: &str| {
            Time::from_seconds(seconds).ok_or_else(|| {
                value_error(format!(
                    "connection `{name}`: {what} is {seconds} s; it must be 0 or more and under 213 days"
                ))
            })
        };
        let mut connections = Vec::with_capacity(count);
        for (i, name) in names.into_iter().enumerate() {
            if source[i].max(target[i]) as usize >= nodes {
                return Err(value_error(format!("connection `{name}`: node number beyond the {nodes} of the network")));
            }
            let demand = (demand_bps[i] != f64::INFINITY).then_some(Rate(demand_bps[i]));
            let start = time(start_s[i], &name, "start")?;
            let stop = if stop_s[i] == f64::INFINITY { None } else { Some(time(stop_s[i], &name, "stop")?) };
            let (source, target) = (NodeId(source[i]), NodeId(target[i]));
            let (weight, qos, reserved) = (weight[i], qos[i], Rate(reserved_bps[i]));
            connections.push(Connection { name, source, target, demand, weight, reserved, qos, start, stop });
        }
        Ok(Self(Arc::new(Demands::new(&network.0, connections).map_err(value_error)?)))
    }

    fn __len__(&self) -> usize {
        self.0.connections().len()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.connections().iter().map(|c| c.name.clone()).collect()
    }

    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.connections().iter().map(|c| c.source.0).collect::<Vec<_>>().into_pyarray(py)
    }

    #[getter]
    fn target<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.0.connections().iter().map(|c| c.target.0).collect::<Vec<_>>().into_pyarray(py)
    }

    /// The demand of each connection; infinite where there is no limit.
    #[getter]
    fn demand_bps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |c| c.demand.map_or(f64::INFINITY, |d| d.0))
    }

    #[getter]
    fn weight<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |c| c.weight)
    }

    /// The reserved part of each connection's rate.
    #[getter]
    fn reserved_bps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |c| c.reserved.0)
    }

    #[getter]
    fn qos<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |c| c.qos)
    }

    #[getter]
    fn start_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |c| c.start.seconds())
    }

    /// The stop of each connection; infinite where the connection stays.
    #[getter]
    fn stop_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |c| c.stop.map_or(f64::INFINITY, Time::seconds))
    }
}

impl PyDemands {
    fn column<'py>(&self, py: Python<'py>, value: impl Fn(&Connection) -> f64) -> Bound<'py, PyArray1<f64>> {
        self.0.connections().iter().map(value).collect::<Vec<_>>().into_pyarray(py)
    }
}

/// Converts "10 Gbit/s" to bit/s.
#[pyfunction]
fn parse_rate(text: &str) -> PyResult<f64> {
    parse::parse_rate(text).map(|r| r.0).map_err(value_error)
}

/// Converts "5 ms" to seconds.
#[pyfunction]
fn parse_span(text: &str) -> PyResult<f64> {
    parse::parse_span(text).map(Span::seconds).map_err(value_error)
}

/// Converts "64 KiB" to bytes.
#[pyfunction]
fn parse_bytes(text: &str) -> PyResult<u64> {
    parse::parse_bytes(text).map(|b| b.0).map_err(value_error)
}

/// Converts 10e9 to "10 Gbit/s".
#[pyfunction]
fn format_rate(bps: f64) -> String {
    Rate(bps).to_string()
}

/// The candidate closest to a misspelt name, if any is close.
#[pyfunction]
fn nearest_name(name: &str, candidates: Vec<String>) -> Option<String> {
    nearest(name, candidates.iter().map(String::as_str)).map(str::to_owned)
}

/// Great-circle distance in metres between (longitude, latitude) pairs in degrees.
#[pyfunction]
fn distance_m(a: (f64, f64), b: (f64, f64)) -> f64 {
    let at = |(longitude, latitude)| Position { longitude, latitude };
    at(a).distance(at(b))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyNetwork>()?;
    module.add_class::<PyDemands>()?;
    module.add_function(wrap_pyfunction!(parse_rate, module)?)?;
    module.add_function(wrap_pyfunction!(parse_span, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(format_rate, module)?)?;
    module.add_function(wrap_pyfunction!(nearest_name, module)?)?;
    module.add_function(wrap_pyfunction!(distance_m, module)?)
}
