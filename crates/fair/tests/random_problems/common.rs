//! Random problems of all kinds.

use std::sync::Arc;

use anabranch_fair::{Problem, ProblemParts};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a random problem may hold.
#[derive(Clone, Copy)]
pub struct Kind {
    pub most_paths: usize,
    /// Demands, weights, coefficients, dead links, links without limit, connections without a path.
    pub is_rich: bool,
    /// Capacities over 18 orders of magnitude, weights and demands over as many.
    pub is_wide: bool,
}

pub const PLAIN: Kind = Kind { most_paths: 4, is_rich: false, is_wide: false };
pub const RICH: Kind = Kind { most_paths: 6, is_rich: true, is_wide: false };
pub const SINGLE: Kind = Kind { most_paths: 1, ..RICH };
pub const WIDE: Kind = Kind { is_wide: true, ..RICH };
pub const WIDE_SINGLE: Kind = Kind { is_wide: true, ..SINGLE };

pub fn random_parts(seed: u64, kind: Kind) -> ProblemParts {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let links = rng.random_range(1..25usize);
    let connections = rng.random_range(1..40usize);
    let mut parts = ProblemParts { path_offsets: vec![0], ..Default::default() };
    // Whole numbers make ties; a wide range makes small numbers beside large ones.
    let is_whole = rng.random_bool(0.5);
    for _ in 0..links {
        let exponent = if kind.is_wide { rng.random_range(-6.0..12.0) } else { rng.random_range(-3.0..5.0) };
        let is_small = is_whole && !kind.is_wide;
        let capacity = if is_small { f64::from(rng.random_range(1..6)) } else { 10f64.powf(exponent) };
        let special = if kind.is_rich { rng.random_range(0..12) } else { 9 };
        parts.capacity.push(if special == 0 {
            0.0
        } else if special == 1 {
            f64::INFINITY
        } else {
            capacity
        });
    }
    let all: Vec<u32> = (0..links as u32).collect();
    for c in 0..connections {
        let is_limited = kind.is_rich && rng.random_bool(0.4);
        let amount = if kind.is_wide { 10f64.powf(rng.random_range(-6.0..12.0)) } else { 0.7 };
        let demand = if is_limited { f64::from(rng.random_range(0..5)) * amount } else { f64::INFINITY };
        let spread = if kind.is_wide { 10f64.powf(rng.random_range(-9.0..9.0)) } else { 1.0 };
        parts.demand.push(demand);
        parts.weight.push(if kind.is_rich { spread * [0.5, 1.0, 2.0, 3.7].choose(&mut rng).unwrap() } else { 1.0 });
        let least = usize::from(!kind.is_rich);
        for _ in 0..rng.random_range(least..=kind.most_paths) {
            let length = rng.random_range(1..=links.min(5));
            let path: Vec<u32> = all.sample(&mut rng, length).copied().collect();
            let is_stopped = demand.is_finite() || path.iter().any(|&l| parts.capacity[l as usize].is_finite());
            if is_stopped {
                for &link in &path {
                    parts.path_links.push(link);
                    if kind.is_rich {
                        parts.coefficient.push(*[1.0, 1.0, 0.05, 2.5].choose(&mut rng).unwrap());
                    }
                }
                parts.path_offsets.push(parts.path_links.len());
                parts.path_connection.push(c as u32);
            }
        }
    }
    parts
}

pub fn problem(seed: u64, kind: Kind) -> Arc<Problem> {
    Arc::new(Problem::new(random_parts(seed, kind)).unwrap())
}

/// Where everything went: `place[old] = new`.
pub struct Places {
    pub path: Vec<u32>,
    pub connection: Vec<u32>,
    pub link: Vec<u32>,
}

/// The same problem with paths, connections and links in another order.
pub fn renumbered(parts: &ProblemParts, seed: u64) -> (ProblemParts, Places) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 1_000_000);
    let shuffled = |n: usize, rng: &mut ChaCha8Rng| {
        let mut order: Vec<usize> = (0..n).collect();
        order.shuffle(rng);
        order
    };
    // `order[new] = old`; `place[old] = new`.
    let path_order = shuffled(parts.path_connection.len(), &mut rng);
    let connection_order = shuffled(parts.weight.len(), &mut rng);
    let link_order = shuffled(parts.capacity.len(), &mut rng);
    let place = |order: &[usize]| {
        let mut place = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
        place
    };
    let places = Places { path: place(&path_order), connection: place(&connection_order), link: place(&link_order) };
    let mut other = ProblemParts {
        capacity: link_order.iter().map(|&l| parts.capacity[l]).collect(),
        demand: connection_order.iter().map(|&c| parts.demand[c]).collect(),
        weight: connection_order.iter().map(|&c| parts.weight[c]).collect(),
        path_offsets: vec![0],
        ..Default::default()
    };
    for &path in &path_order {
        for entry in parts.path_offsets[path]..parts.path_offsets[path + 1] {
            other.path_links.push(places.link[parts.path_links[entry] as usize]);
            other.coefficient.extend(parts.coefficient.get(entry));
        }
        other.path_offsets.push(other.path_links.len());
        other.path_connection.push(places.connection[parts.path_connection[path] as usize]);
    }
    (other, places)
}

pub fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64, seed: u64) {
    let scale = wanted.iter().copied().fold(0.0, f64::max);
    assert_eq!(found.len(), wanted.len());
    for (path, (a, b)) in found.iter().zip(wanted).enumerate() {
        let is_close = (a - b).abs() <= tolerance * b.abs().max(1e-3 * scale);
        assert!(is_close, "seed {seed}, path {path}: {a} instead of {b}");
    }
}
