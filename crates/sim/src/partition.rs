//! Divides the nodes of a network among shards.
//!
//! Links between shards should have long delays, since shards may go on alone for the least of them; shards should have
//! equal work; and few packets should cross. So first nodes that short links join are held together, up to the longest
//! delay that leaves many small groups. Then each shard grows from one group, and takes in the groups that it exchanges
//! most packets with.

use std::collections::BinaryHeap;

use anabranch_core::{NodeId, Span, UnionFind};
use anabranch_plan::Plan;

use crate::expected_load;
use crate::gain::Threads;
use crate::routes::Routes;
use crate::shard::Owners;
use crate::spare::spare;

/// The largest part of a shard's work that a group may have. The later values are tried where the earlier ones fail.
const LARGEST_GROUP: [f64; 3] = [0.1, 0.5, 1.5];

/// The number of rounds in which groups move between shards.
const ROUNDS: usize = 4;

/// The largest work of a shard, relative to an equal part, that a move may make.
const SLACK: f64 = 1.02;

/// The least packet-hops of a shard in a window with which several threads can gain. They take a tenth of a
/// millisecond, and waiting for each other takes some microseconds.
const LEAST_WINDOW: f64 = 2_000.0;

/// The least number of windows of `LEAST_WINDOW` that a run must fill to be divided.
const LEAST_WINDOWS: f64 = 1_000.0;

/// The most shards: their numbers are bytes.
const MOST_SHARDS: usize = 64;

/// Divides a network into shards, at most as many as threads are wanted. Gives their owners, and the least delay of
/// links between them in picoseconds.
///
/// Every shard has work. The result is `None` if there is nothing to divide, if links treat packets at random, or if
/// shards are wanted only as it pays and there is too little work in a window.
pub fn divide(plan: &Plan, routes: &Routes, threads: Threads) -> Option<(Owners, u64)> {
    let (Threads::Exactly(shards) | Threads::AsPays(shards) | Threads::IfSpare(shards)) = threads;
    let is_random = plan.links.iter().any(|link| !link.data.is_none() || !link.control.is_none());
    if shards < 2 || is_random || plan.transfers.is_empty() {
        return None;
    }
    let shards = shards.min(MOST_SHARDS);
    let packets = expected_load::packets(plan, routes);
    let work = work(plan, routes, &packets);
    let total = work.iter().sum::<f64>();
    let must_pay = !matches!(threads, Threads::Exactly(_));
    if must_pay && total < LEAST_WINDOW * LEAST_WINDOWS {
        return None;
    }
    // Only now: it takes some tens of milliseconds.
    let shards = if matches!(threads, Threads::IfSpare(_)) { spare(shards) } else { shards };
    if shards < 2 {
        return None;
    }
    let part = total / shards as f64;
    let groups = LARGEST_GROUP.iter().find_map(|most| groups(plan, routes, &work, most * part))?;
    let mut shard_of_group = grow(plan, routes, &packets, &groups, shards);
    let shards = drop_idle(&groups, &mut shard_of_group);
    if shards < 2 {
        return None;
    }
    let of_node = |node: NodeId| shard_of_group[groups.of[node.index()] as usize];
    let lookahead = lookahead(plan, routes, of_node)?;
    let windows = (plan.run.duration.0 as f64 / lookahead.max(1) as f64).max(1.0);
    if must_pay && total / windows / (shards as f64) < LEAST_WINDOW {
        return None;
    }
    Some((Owners::new(plan, routes, shards, of_node), lookahead))
}

/// The least delay of links between shards, in picoseconds.
fn lookahead(plan: &Plan, routes: &Routes, of_node: impl Fn(NodeId) -> u8) -> Option<u64> {
    let links = routes.used.iter().map(|&l| plan.network.link(l));
    links.filter(|link| of_node(link.source) != of_node(link.target)).map(|link| link.delay.0).min()
}

/// For each node the number of packets that leave it or end there.
fn work(plan: &Plan, routes: &Routes, packets: &[f64]) -> Vec<f64> {
    let mut work = vec![0.0; plan.network.nodes().len()];
    for (p, packets) in packets.iter().enumerate() {
        for link in routes.links_of(plan, p) {
            work[plan.network.link(link).source.index()] += packets;
        }
        let path = plan.paths.path(p);
        work[plan.network.link(path[path.len() - 1]).target.index()] += packets;
    }
    work
}

/// Groups of nodes that stay together.
struct Groups {
    /// For each node the number of its group.
    of: Vec<u32>,
    /// For each group its work in packets.
    work: Vec<f64>,
}

/// The groups of the longest delay at which no group has more than `most` work; `None` if there is no such delay.
fn groups(plan: &Plan, routes: &Routes, work: &[f64], most: f64) -> Option<Groups> {
    let mut delays: Vec<Span> = routes.used.iter().map(|&l| plan.network.link(l).delay).filter(|d| d.0 > 0).collect();
    delays.sort_unstable();
    delays.dedup();
    let fits = |delay: Span| {
        let groups = join(plan, routes, work, delay);
        (groups.work.iter().all(|&work| work <= most)).then_some(groups)
    };
    // The longer the delay, the larger the groups: the last that fits is found by halves.
    let mut best = None;
    let (mut low, mut high) = (0, delays.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        match fits(delays[middle]) {
            Some(groups) => {
                best = Some(groups);
                low = middle + 1;
            }
            None => high = middle,
        }
    }
    best
}

/// Groups nodes so that all links in use with a delay below `delay` lie within a group.
fn join(plan: &Plan, routes: &Routes, work: &[f64], delay: Span) -> Groups {
    let mut nodes = UnionFind::new(work.len());
    for link in routes.used.iter().map(|&l| plan.network.link(l)).filter(|link| link.delay < delay) {
        nodes.join(link.source.0, link.target.0);
    }
    let of = nodes.sets();
    let mut work_of = vec![0.0; of.iter().max().map_or(0, |&last| last as usize + 1)];
    for (&group, own) in of.iter().zip(work) {
        work_of[group as usize] += own;
    }
    Groups { of, work: work_of }
}

/// Lets shards grow from single groups; gives the shard of each group.
fn grow(plan: &Plan, routes: &Routes, packets: &[f64], groups: &Groups, shards: usize) -> Vec<u8> {
    let neighbours = neighbours(plan, routes, packets, groups);
    let total: f64 = groups.work.iter().sum();
    let part = total / shards as f64;
    let last = (shards - 1) as u8;
    let mut shard_of = vec![last; groups.work.len()];
    let mut is_taken = vec![false; groups.work.len()];
    let mut order: Vec<usize> = (0..groups.work.len()).collect();
    order.sort_by(|&a, &b| groups.work[b].total_cmp(&groups.work[a]).then(a.cmp(&b)));
    let mut seeds = order.into_iter();
    for shard in 0..last {
        let mut has = 0.0;
        let mut border: BinaryHeap<(u64, std::cmp::Reverse<usize>)> = BinaryHeap::new();
        let mut traffic = vec![0; groups.work.len()];
        while has < part {
            let next = std::iter::from_fn(|| border.pop()).map(|(_, group)| group.0).find(|&g| !is_taken[g]);
            let Some(group) = next.or_else(|| seeds.by_ref().find(|&g| !is_taken[g])) else { break };
            is_taken[group] = true;
            shard_of[group] = shard;
            has += groups.work[group];
            for &(other, packets) in &neighbours[group] {
                if !is_taken[other] {
                    traffic[other] += packets;
                    border.push((traffic[other], std::cmp::Reverse(other)));
                }
            }
        }
    }
    refine(groups, &neighbours, &mut shard_of, shards);
    shard_of
}

/// Numbers the shards with work anew, and gives their number. Groups without work go to the first shard.
fn drop_idle(groups: &Groups, shard_of: &mut [u8]) -> usize {
    let mut new: [Option<u8>; MOST_SHARDS] = [None; MOST_SHARDS];
    let mut count = 0;
    for (&shard, _) in shard_of.iter().zip(&groups.work).filter(|(_, work)| **work > 0.0) {
        let number = &mut new[usize::from(shard)];
        if number.is_none() {
            *number = Some(count);
            count += 1;
        }
    }
    for shard in shard_of {
        *shard = new[usize::from(*shard)].unwrap_or(0);
    }
    usize::from(count)
}

/// Moves groups to the shard that they exchange most packets with, as long as shards stay about equal.
fn refine(groups: &Groups, neighbours: &[Vec<(usize, u64)>], shard_of: &mut [u8], shards: usize) {
    let mut has = vec![0.0; shards];
    for (group, &shard) in shard_of.iter().enumerate() {
        has[usize::from(shard)] += groups.work[group];
    }
    let most = SLACK * groups.work.iter().sum::<f64>() / shards as f64;
    for _ in 0..ROUNDS {
        for group in 0..shard_of.len() {
            let mut traffic = vec![0; shards];
            for &(other, packets) in &neighbours[group] {
                traffic[usize::from(shard_of[other])] += packets;
            }
            let own = usize::from(shard_of[group]);
            let best = (0..shards).max_by_key(|&shard| (traffic[shard], shard == own)).unwrap_or(own);
            if traffic[best] > traffic[own] && has[best] + groups.work[group] <= most {
                has[own] -= groups.work[group];
                has[best] += groups.work[group];
                shard_of[group] = best as u8;
            }
        }
    }
}

/// For each group its neighbours, with the packets on links between them.
fn neighbours(plan: &Plan, routes: &Routes, packets: &[f64], groups: &Groups) -> Vec<Vec<(usize, u64)>> {
    let mut load = vec![0; plan.links.len()];
    for (p, &packets) in packets.iter().enumerate() {
        for link in routes.links_of(plan, p) {
            load[link.index()] += packets.ceil() as u64;
        }
    }
    let mut neighbours = vec![Vec::new(); groups.work.len()];
    for &l in &routes.used {
        let link = plan.network.link(l);
        let ends = [link.source, link.target].map(|node| groups.of[node.index()] as usize);
        if ends[0] != ends[1] {
            neighbours[ends[0]].push((ends[1], load[l.index()]));
            neighbours[ends[1]].push((ends[0], load[l.index()]));
        }
    }
    neighbours
}
