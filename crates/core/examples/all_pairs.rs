//! Times path searches over all pairs of a network.
//!
//! Reads the number of nodes and then a line `u v` for each two-way link from standard input:
//! `all_pairs [k-shortest|equal-cost|disjoint] [paths for each pair] < links.txt`. Set `RAYON_NUM_THREADS` for threads.
//! With `lengths` as third argument it writes a line `source target length length ...` for each pair.

use std::error::Error;
use std::io::{BufWriter, Read, Write, stdin, stdout};
use std::time::Instant;

use anabranch_core::paths::{Metric, disjoint, equal_cost, k_shortest};
use anabranch_core::{ConnectionId, Network, NetworkBuilder, NodeId, Paths, Rate, Span};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let search = arguments.first().map_or("k-shortest", String::as_str);
    let most = arguments.get(1).map_or(Ok(8), |k| k.parse())?;
    let network = read_network()?;
    let nodes = || (0..network.nodes().len()).map(NodeId::new);
    let pairs: Vec<_> = nodes().flat_map(|s| nodes().filter(move |&t| t != s).map(move |t| (s, t))).collect();

    let begin = Instant::now();
    let (metric, progress) = (Metric::Hops, |_| true);
    let paths = match search {
        "k-shortest" => k_shortest(&network, &pairs, most, &metric, &progress)?,
        "equal-cost" => equal_cost(&network, &pairs, most, &metric, &progress)?,
        "disjoint" => disjoint(&network, &pairs, most, &metric, &progress)?,
        other => return Err(format!("`{other}` is no search; take k-shortest, equal-cost or disjoint").into()),
    };
    let (pairs_found, paths_found, links) = (paths.connections(), paths.len(), paths.links().len());
    eprintln!("{:.2} s: {pairs_found} pairs, {paths_found} paths, {links} links", begin.elapsed().as_secs_f64());
    if arguments.get(2).is_some_and(|a| a == "lengths") {
        write_lengths(&pairs, &paths)?;
    }
    Ok(())
}

fn read_network() -> Result<Network, Box<dyn Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let (nodes, ends) = numbers.split_first().ok_or("the number of nodes is missing; write it on the first line")?;
    let mut builder = NetworkBuilder::new();
    let nodes = (0..*nodes).map(|n| builder.node(&n.to_string(), None)).collect::<Result<Vec<_>, _>>()?;
    for link in ends.chunks_exact(2) {
        builder.two_way(None, nodes[link[0]], nodes[link[1]], Rate(1e9), Span(0))?;
    }
    Ok(builder.build())
}

fn write_lengths(pairs: &[(NodeId, NodeId)], paths: &Paths) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(stdout().lock());
    for (pair, (source, target)) in pairs.iter().enumerate() {
        write!(out, "{source} {target}")?;
        for path in paths.of(ConnectionId::new(pair)) {
            write!(out, " {}", path.len())?;
        }
        writeln!(out)?;
    }
    Ok(())
}
