//! Times a topology manager of 10,000 paths: their groups, requests, and changes of links and paths.
//!
//! The network has 1,000 nodes with six neighbours each. The paths are first those of 1,250 requests, four from each
//! of two publishers; then those of one request, of ten links each.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_core::generate::{LinkKind, random_regular};
use anabranch_core::paths::{GroupSearch, Sharing};
use anabranch_core::random::{Purpose, stream};
use anabranch_core::{LinkId, Network, NodeId, Rate, Span};
use anabranch_psi::{Identities, IdentityParameters, PathRecord, RequestId, TopologyManager};
use rand::{Rng, RngExt};

const NODES: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let kind = LinkKind { capacity: Rate(1e9), delay: Span(0) };
    let network = Arc::new(random_regular(NODES as usize, 6, kind, 1)?);
    let identities = Arc::new(Identities::new(network.links().len(), IdentityParameters::default())?);
    let new = || TopologyManager::new(Arc::clone(&network), Arc::clone(&identities), Sharing::Links, &[]);
    let mut rng = stream(1, Purpose::Demands, 0);

    let paths = walks(&network, 10_000, &mut rng);
    for sharing in [Sharing::Links, Sharing::Nodes] {
        let mut search = GroupSearch::new(&network, sharing, &[]);
        let times: Vec<Duration> =
            (0..20).map(|_| timed(|| search.groups(paths.iter().map(Vec::as_slice))).1).collect();
        report(&format!("groups of 10,000 paths, {sharing:?}"), times);
    }

    let mut many = new()?;
    let begin = Instant::now();
    for _ in 0..1250 {
        let receiver = rng.random_range(0..NODES);
        let publisher = |far: u32| NodeId((receiver + far) % NODES);
        many.request(NodeId(receiver), &[publisher(1), publisher(500)], 4)?;
    }
    println!("1,250 requests of 8 paths: {:.2?}", begin.elapsed());
    changes(&mut many, &network)?;

    let mut one = new()?;
    let publishers: Vec<NodeId> = (1..NODES).map(NodeId).collect();
    let (request, took) = timed(|| one.request(NodeId(0), &publishers, 10));
    println!("a request of {} paths from 999 publishers: {took:.2?}", one.records(request?)?.len());
    changes(&mut one, &network)
}

/// Times every link's failure and return, and a path's leaving and coming.
fn changes(manager: &mut TopologyManager, network: &Network) -> Result<(), Box<dyn Error>> {
    let (mut fails, mut restores, mut changed) = (Vec::new(), Vec::new(), 0);
    for link in (0..network.links().len()).map(LinkId::new) {
        let (requests, took) = timed(|| manager.fail(link));
        changed += requests?.len();
        fails.push(took);
        restores.push(timed(|| manager.restore(link)).1);
    }
    println!("  a link changes {:.1} requests on average", changed as f64 / network.links().len() as f64);
    report("  a link fails", fails);
    report("  a link returns", restores);
    let (mut removals, mut additions) = (Vec::new(), Vec::new());
    let requests: Vec<RequestId> = manager.requests().take(200).collect();
    for request in requests.iter().cycle().take(200) {
        let records: Vec<PathRecord> = manager.records(*request)?;
        removals.push(timed(|| manager.remove_path(*request, records[0].path)).1);
        let (path, took) = timed(|| manager.add_path(*request, &records[0].links));
        path?;
        additions.push(took);
    }
    report("  a path is removed", removals);
    report("  a path is added", additions);
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let done = work();
    (done, begin.elapsed())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let mean = times.iter().sum::<Duration>() / times.len() as u32;
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{what}: median {median:.1?}, mean {mean:.1?}, longest {longest:.1?}");
}

/// Paths of ten links that never come to a node twice.
fn walks(network: &Network, count: usize, rng: &mut impl Rng) -> Vec<Vec<LinkId>> {
    let mut paths = Vec::new();
    while paths.len() < count {
        let mut at = NodeId(rng.random_range(0..NODES));
        let (mut seen, mut path) = (vec![at], Vec::new());
        for _ in 0..10 {
            let links = network.links_from(at);
            let link = links[rng.random_range(0..links.len())];
            at = network.link(link).target;
            if seen.contains(&at) {
                break;
            }
            seen.push(at);
            path.push(link);
        }
        if path.len() == 10 {
            paths.push(path);
        }
    }
    paths
}
