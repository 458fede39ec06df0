//! Networks and demands made by the rules of the file.

use anabranch_core::generate::{
    self, DelayRule, HotSpots, LeafSpineParameters, LinkKind, LinkRule, Masses, TransitStubHosts, TransitStubLinks,
    TransitStubParameters, UniformDemand, WaxmanParameters,
};
use anabranch_core::parse::parse_rate;
use anabranch_core::quantity::SpanText;
use anabranch_core::spelling::nearest;
use anabranch_core::{Demands, Network};

use crate::file::network::{Generator, Shape, TransitStub};
use crate::file::words::Capacity;

/// Makes a network by a rule.
///
/// # Errors
/// If a parameter is wrong: why, and what it may be.
pub(super) fn generate(rule: &Generator, seed: u64) -> Result<Network, String> {
    let made = match rule {
        Generator::Dumbbell(d) => {
            generate::dumbbell(d.pairs, kind(d.access, d.access_delay), kind(d.bottleneck, d.bottleneck_delay))
        }
        Generator::ParkingLot(p) => {
            let (access, bottleneck) = (kind(p.access, p.access_delay), kind(p.bottleneck, p.bottleneck_delay));
            generate::parking_lot(p.hops, p.cross_pairs, access, bottleneck)
        }
        Generator::Ring(r) => generate::ring(r.nodes, kind(r.capacity, r.delay)),
        Generator::Grid(g) => generate::grid(g.rows, g.columns, g.wrapped, kind(g.capacity, g.delay)),
        Generator::FatTree(f) => {
            let hosts = f.hosts.then(|| kind(f.capacity, f.host_delay));
            generate::fat_tree(f.k, kind(f.capacity, f.delay), hosts)
        }
        Generator::LeafSpine(l) => generate::leaf_spine(&LeafSpineParameters {
            leaves: l.leaves,
            spines: l.spines,
            hosts_per_leaf: l.hosts_per_leaf,
            uplink: kind(l.uplink, l.delay),
            host: kind(l.host, l.delay),
        }),
        Generator::Waxman(w) => {
            let link = LinkRule { capacity: w.capacity.rate(), delay: DelayRule::Fixed(w.delay.0) };
            generate::waxman(&WaxmanParameters { nodes: w.nodes, alpha: w.alpha, beta: w.beta, link }, seed)
        }
        Generator::RandomRegular(r) => generate::random_regular(r.nodes, r.degree, kind(r.capacity, r.delay), seed),
        Generator::TransitStub(t) => generate::transit_stub(&transit_stub(t)?, seed).map(|made| made.network),
    };
    made.map_err(|e| e.to_string())
}

fn kind(capacity: Capacity, delay: SpanText) -> LinkKind {
    LinkKind { capacity: capacity.rate(), delay: delay.0 }
}

fn transit_stub(rule: &TransitStub) -> Result<TransitStubParameters, String> {
    let filled = rule.filled();
    let mut parameters = match rule.shape {
        Some(shape) => of_shape(shape, rule.routers)?,
        None => of_size(filled.routers.expect("a filled rule without a shape has a number of routers"))?,
    };
    let rate = |capacity: Option<Capacity>| capacity.expect("a filled rule has every capacity").rate();
    let [least, most] = filled.delay.map(|delay| delay.0);
    let delay = if least == most { DelayRule::Fixed(least) } else { DelayRule::Uniform { least, most } };
    let link = |capacity| LinkRule { capacity: rate(capacity), delay };
    parameters.links = TransitStubLinks {
        transit_transit: link(filled.transit),
        transit_stub: link(filled.stub),
        stub_stub: link(filled.stub),
    };
    let host = LinkKind { capacity: rate(filled.host), delay: filled.host_delay.0 };
    parameters.hosts = (filled.hosts > 0).then(|| TransitStubHosts::new(filled.hosts, host));
    Ok(parameters)
}

fn of_size(routers: usize) -> Result<TransitStubParameters, String> {
    TransitStubParameters::of_size(routers).ok_or_else(|| {
        let known = TransitStubParameters::SIZES.map(|size| size.to_string()).join(", ");
        format!("there are no known parameters for {routers} routers; give {known}, or a `shape`")
    })
}

/// The parameters for a shape, which makes this number of routers if one is given.
fn of_shape(shape: Shape, routers: Option<usize>) -> Result<TransitStubParameters, String> {
    let Shape { transit_domains, transit_nodes, stubs, stub_nodes } = shape;
    let parameters = TransitStubParameters::of_shape([transit_domains, transit_nodes, stubs, stub_nodes]);
    match routers {
        Some(routers) if routers != parameters.routers() => Err(format!(
            "`shape` makes {transit_domains} * {transit_nodes} * (1 + {stubs} * {stub_nodes}) = {} routers, and `routers` \
             is {routers}; leave `routers` out, or change one of them",
            parameters.routers()
        )),
        _ => Ok(parameters),
    }
}

/// Rules that make demands from one rate and a seed.
const RULES: [&str; 3] = ["gravity", "uniform", "hot-spots"];

/// Makes demands by a rule such as `gravity:40 Gbit/s`.
///
/// # Errors
/// If the rule is wrong: why, and what it may be.
pub(super) fn demands(rule: &str, network: &Network, seed: u64) -> Result<Demands, String> {
    let (name, rate) = rule.split_once(':').unwrap_or((rule, ""));
    if !RULES.contains(&name) {
        let hint = nearest(name, RULES.into_iter()).map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"));
        return Err(format!("there is no rule `{name}`{hint}; there is {}", RULES.join(", ")));
    }
    if rate.is_empty() {
        return Err(format!("the rule has no rate; write it like `{name}:40 Gbit/s`"));
    }
    let rate = parse_rate(rate).map_err(|e| e.to_string())?;
    let made = match name {
        "gravity" => generate::gravity(network, None, rate, &Masses::Exponential, seed),
        "uniform" => generate::uniform(network, None, UniformDemand::UpTo(rate), seed),
        _ => generate::hot_spots(network, None, &HotSpots { count: 1, share: 0.5, total: rate }, seed),
    };
    made.map_err(|e| e.to_string())
}
