//! Generators of networks and demands, by rule and seed.

use std::sync::Arc;

use anabranch_core::generate::{
    self, DelayRule, EdgeMethod, GenerateError, HotSpots, LeafSpineParameters, LinkKind, LinkRule, Masses,
    TransitStubHosts, TransitStubLinks, TransitStubParameters, UniformDemand, WaxmanParameters,
};
use anabranch_core::{Demands, Network, NodeId, Rate, Span};
use pyo3::prelude::*;

use crate::network::{PyDemands, PyNetwork, span, value_error};

/// Capacity in bit/s and delay in seconds.
type Kind = (f64, f64);

/// Capacity in bit/s, least and most delay in seconds.
type Rule = (f64, f64, f64);

fn kind((capacity_bps, delay_s): Kind) -> PyResult<LinkKind> {
    Ok(LinkKind { capacity: Rate(capacity_bps), delay: delay(delay_s)? })
}

fn rule((capacity_bps, least_s, most_s): Rule) -> PyResult<LinkRule> {
    let (least, most) = (delay(least_s)?, delay(most_s)?);
    let delay = if least == most { DelayRule::Fixed(least) } else { DelayRule::Uniform { least, most } };
    Ok(LinkRule { capacity: Rate(capacity_bps), delay })
}

fn delay(seconds: f64) -> PyResult<Span> {
    span(seconds, "a delay")
}

fn network(made: Result<Network, GenerateError>) -> PyResult<PyNetwork> {
    made.map(|network| PyNetwork(Arc::new(network))).map_err(value_error)
}

fn demands(made: Result<Demands, GenerateError>) -> PyResult<PyDemands> {
    made.map(|demands| PyDemands(Arc::new(demands))).map_err(value_error)
}

#[pyfunction]
fn dumbbell(pairs: usize, access: Kind, bottleneck: Kind) -> PyResult<PyNetwork> {
    network(generate::dumbbell(pairs, kind(access)?, kind(bottleneck)?))
}

#[pyfunction]
fn parking_lot(hops: usize, cross_pairs: usize, access: Kind, bottleneck: Kind) -> PyResult<PyNetwork> {
    network(generate::parking_lot(hops, cross_pairs, kind(access)?, kind(bottleneck)?))
}

#[pyfunction]
fn ring(nodes: usize, link: Kind) -> PyResult<PyNetwork> {
    network(generate::ring(nodes, kind(link)?))
}

#[pyfunction]
fn grid(rows: usize, columns: usize, wrapped: bool, link: Kind) -> PyResult<PyNetwork> {
    network(generate::grid(rows, columns, wrapped, kind(link)?))
}

#[pyfunction]
fn fat_tree(k: usize, switch: Kind, hosts: Option<Kind>) -> PyResult<PyNetwork> {
    network(generate::fat_tree(k, kind(switch)?, hosts.map(kind).transpose()?))
}

#[pyfunction]
fn leaf_spine(leaves: usize, spines: usize, hosts_per_leaf: usize, uplink: Kind, host: Kind) -> PyResult<PyNetwork> {
    let (uplink, host) = (kind(uplink)?, kind(host)?);
    network(generate::leaf_spine(&LeafSpineParameters { leaves, spines, hosts_per_leaf, uplink, host }))
}

#[pyfunction]
fn waxman(nodes: usize, alpha: f64, beta: f64, link: Rule, seed: u64) -> PyResult<PyNetwork> {
    network(generate::waxman(&WaxmanParameters { nodes, alpha, beta, link: rule(link)? }, seed))
}

#[pyfunction]
fn random_regular(nodes: usize, degree: usize, link: Kind, seed: u64) -> PyResult<PyNetwork> {
    network(generate::random_regular(nodes, degree, kind(link)?, seed))
}

/// The numbers of a parameter file of GT-ITM: T, Nt, K, Ns; the numbers of extra edges, transit-stub and stub-stub; the
/// edge methods (number, alpha, beta, gamma) at the top, in transit domains and in stubs.
type Spec = ([usize; 4], [usize; 2], [(u32, f64, f64, f64); 3]);

fn spec_parameters((sizes, extra, methods): Spec) -> Result<TransitStubParameters, GenerateError> {
    let method = |(number, alpha, beta, gamma)| EdgeMethod::numbered(number, alpha, beta, gamma);
    Ok(TransitStubParameters {
        transit_domains: sizes[0],
        transit_nodes: sizes[1],
        stubs: sizes[2],
        stub_nodes: sizes[3],
        extra_transit_stub: extra[0],
        extra_stub_stub: extra[1],
        top_edges: method(methods[0])?,
        transit_edges: method(methods[1])?,
        stub_edges: method(methods[2])?,
        ..TransitStubParameters::routers_110()
    })
}

/// A transit-stub network by a known size or a parameter file; `links` has three rules: between transit routers,
/// transit-stub, and between stub routers.
#[pyfunction]
#[pyo3(signature = (routers, spec, links, hosts, seed))]
fn transit_stub(
    routers: Option<usize>,
    spec: Option<Spec>,
    links: [Rule; 3],
    hosts: Option<(usize, Kind)>,
    seed: u64,
) -> PyResult<PyNetwork> {
    let mut parameters = match (routers, spec) {
        (Some(routers), None) => TransitStubParameters::of_size(routers).ok_or_else(|| {
            let known = TransitStubParameters::SIZES.map(|size| size.to_string()).join(", ");
            value_error(format!(
                "there are no known parameters for {routers} routers; give {known}, or a parameter file"
            ))
        })?,
        (None, Some(spec)) => spec_parameters(spec).map_err(value_error)?,
        _ => return Err(value_error("give either the number of routers or a parameter file (spec)")),
    };
    let [transit_transit, transit_stub, stub_stub] = links;
    parameters.links = TransitStubLinks {
        transit_transit: rule(transit_transit)?,
        transit_stub: rule(transit_stub)?,
        stub_stub: rule(stub_stub)?,
    };
    let hosts_of = |(each, link)| Ok::<_, PyErr>(TransitStubHosts::new(each, kind(link)?));
    parameters.hosts = hosts.map(hosts_of).transpose()?;
    network(generate::transit_stub(&parameters, seed).map(|made| made.network))
}

fn members(nodes: Option<Vec<u32>>) -> Option<Vec<NodeId>> {
    nodes.map(|nodes| nodes.into_iter().map(NodeId).collect())
}

/// The masses of nodes: "random", "capacity", or one for each node.
#[derive(FromPyObject)]
enum MassArgument {
    Name(String),
    Given(Vec<f64>),
}

#[pyfunction]
#[pyo3(signature = (network, nodes, total_bps, masses, seed))]
fn gravity(
    network: &PyNetwork,
    nodes: Option<Vec<u32>>,
    total_bps: f64,
    masses: MassArgument,
    seed: u64,
) -> PyResult<PyDemands> {
    let masses = match masses {
        MassArgument::Name(name) if name == "random" => Masses::Exponential,
        MassArgument::Name(name) if name == "capacity" => Masses::Capacity,
        MassArgument::Name(name) => {
            let must = "it must be \"random\", \"capacity\", or a number for each node";
            return Err(value_error(format!("masses is \"{name}\"; {must}")));
        }
        MassArgument::Given(values) => Masses::Given(values),
    };
    demands(generate::gravity(&network.0, members(nodes).as_deref(), Rate(total_bps), &masses, seed))
}

#[pyfunction]
#[pyo3(signature = (network, nodes, most_bps, equal, seed))]
fn uniform(network: &PyNetwork, nodes: Option<Vec<u32>>, most_bps: f64, equal: bool, seed: u64) -> PyResult<PyDemands> {
    let most = Rate(most_bps);
    let demand = if equal { UniformDemand::Equal(most) } else { UniformDemand::UpTo(most) };
    demands(generate::uniform(&network.0, members(nodes).as_deref(), demand, seed))
}

#[pyfunction]
#[pyo3(signature = (network, nodes, total_bps, count, share, seed))]
fn hot_spots(
    network: &PyNetwork,
    nodes: Option<Vec<u32>>,
    total_bps: f64,
    count: usize,
    share: f64,
    seed: u64,
) -> PyResult<PyDemands> {
    let spots = HotSpots { count, share, total: Rate(total_bps) };
    demands(generate::hot_spots(&network.0, members(nodes).as_deref(), &spots, seed))
}

#[pyfunction]
#[pyo3(signature = (network, nodes, count, demand_bps, seed))]
fn random_pairs(
    network: &PyNetwork,
    nodes: Option<Vec<u32>>,
    count: usize,
    demand_bps: Option<f64>,
    seed: u64,
) -> PyResult<PyDemands> {
    demands(generate::random_pairs(&network.0, members(nodes).as_deref(), count, demand_bps.map(Rate), seed))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let generate = PyModule::new(module.py(), "generate")?;
    generate.add_function(wrap_pyfunction!(dumbbell, &generate)?)?;
    generate.add_function(wrap_pyfunction!(parking_lot, &generate)?)?;
    generate.add_function(wrap_pyfunction!(ring, &generate)?)?;
    generate.add_function(wrap_pyfunction!(grid, &generate)?)?;
    generate.add_function(wrap_pyfunction!(fat_tree, &generate)?)?;
    generate.add_function(wrap_pyfunction!(leaf_spine, &generate)?)?;
    generate.add_function(wrap_pyfunction!(waxman, &generate)?)?;
    generate.add_function(wrap_pyfunction!(random_regular, &generate)?)?;
    generate.add_function(wrap_pyfunction!(transit_stub, &generate)?)?;
    generate.add_function(wrap_pyfunction!(gravity, &generate)?)?;
    generate.add_function(wrap_pyfunction!(uniform, &generate)?)?;
    generate.add_function(wrap_pyfunction!(hot_spots, &generate)?)?;
    generate.add_function(wrap_pyfunction!(random_pairs, &generate)?)?;
    // Python can import this module by its name, as tools do that compare it with its stub.
    module.py().import("sys")?.getattr("modules")?.set_item("anabranch._core.generate", &generate)?;
    module.add_submodule(&generate)
}
