//! How long ten thousand to a million connections take to fill: fat trees, and links taken at random.
//!
//! `cargo run --release -p anabranch-filling --example million`. Prints milliseconds of CPU time on one core, the least of
//! several runs: `first` with room to be made, `again` with room that is there. What comes out is checked here, by the
//! definition: no link over its capacity by more than 1e-9 of it, and for every connection a link that is full to 1e-9 and
//! on which nobody has a higher level by more than 1e-9.

mod instances;

use std::time::Instant;

use anabranch_filling::{Filling, SinglePath};
use instances::Instance;

/// How much a rounded number may be off, relatively.
const ROUNDING: f64 = 1e-9;

/// Times are the least of so many, each over at least [`CONNECTIONS`].
const RUNS: usize = 5;
const CONNECTIONS: usize = 500_000;

fn main() {
    println!("| instance | connections | entries | first ms | again ms | least rate | mean rate | fair |");
    println!("|---|---|---|---|---|---|---|---|");
    for connections in [10_000, 100_000, 1_000_000] {
        time("fat tree", &instances::fat_tree(connections));
        time("random", &instances::random(connections));
        time("fat tree, demands", &instances::fat_tree(connections).with_demands());
        time("random, weights", &instances::random(connections).with_weights());
    }
}

/// Prints a line of the table.
fn time(name: &str, instance: &Instance) {
    let shared = instance.shared();
    let connections = shared.connections();
    let repeats = CONNECTIONS.div_ceil(connections);
    let mut filling = Filling::default();
    let first = least_ms(repeats, || {
        filling = Filling::default();
        filling.solve(&shared).expect("the instance is sound");
    });
    let again = least_ms(repeats, || {
        filling.solve(&shared).expect("the instance is sound");
    });
    let rates = filling.into_rates();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let mean = rates.iter().sum::<f64>() / connections as f64;
    let verdict = if is_fair(&shared, &rates) { "yes" } else { "NO" };
    let entries = shared.links.len();
    println!("| {name} | {connections} | {entries} | {first:.2} | {again:.2} | {least:.9e} | {mean:.9e} | {verdict} |");
}

fn least_ms(repeats: usize, mut work: impl FnMut()) -> f64 {
    let mut run = || {
        let (began, cpu) = (Instant::now(), cpu_s());
        (0..repeats).for_each(|_| work());
        cpu_s().zip(cpu).map_or(began.elapsed().as_secs_f64(), |(end, cpu)| end - cpu) / repeats as f64
    };
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min) * 1e3
}

/// CPU time of this thread, where the system tells it.
fn cpu_s() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

/// Whether every connection has its demand or a bottleneck [bertsekas1992, sec. 6.5.2], and no link more than it can carry.
fn is_fair(shared: &SinglePath<'_>, rates: &[f64]) -> bool {
    let level = |c: usize| rates[c] / shared.weight.get(c).unwrap_or(&1.0);
    let path = |c: usize| shared.links[shared.offsets[c]..shared.offsets[c + 1]].iter().map(|&link| link as usize);
    let mut loads = vec![0.0; shared.capacity.len()];
    let mut tops = vec![0.0f64; shared.capacity.len()];
    for (c, rate) in rates.iter().enumerate() {
        for link in path(c) {
            loads[link] += rate;
            tops[link] = tops[link].max(level(c));
        }
    }
    let is_full = |link: usize| loads[link] >= shared.capacity[link] * (1.0 - ROUNDING);
    let is_top = |c: usize, link: usize| level(c) >= tops[link] * (1.0 - ROUNDING);
    let has_demand = |c: usize| shared.demand.get(c).is_some_and(|demand| rates[c] >= demand * (1.0 - ROUNDING));
    let is_held = |c: usize| has_demand(c) || path(c).any(|link| is_full(link) && is_top(c, link));
    let is_within = loads.iter().zip(shared.capacity).all(|(load, capacity)| *load <= capacity * (1.0 + ROUNDING));
    is_within && rates.iter().zip(shared.demand).all(|(rate, demand)| rate <= demand) && (0..rates.len()).all(is_held)
}
