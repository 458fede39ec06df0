//! Random networks of all kinds: the filling agrees with a plain one, overloads nothing, and scales.

use anabranch_filling::{Filling, SinglePath, max_min};
use proptest::collection::vec;
use proptest::prelude::*;

/// Arrays of a network and its connections.
#[derive(Clone, Debug, Default)]
struct Arrays {
    capacity: Vec<f64>,
    offsets: Vec<usize>,
    links: Vec<u32>,
    demand: Vec<f64>,
    weight: Vec<f64>,
    coefficient: Vec<f64>,
}

impl Arrays {
    fn shared(&self) -> SinglePath<'_> {
        SinglePath {
            capacity: &self.capacity,
            offsets: &self.offsets,
            links: &self.links,
            demand: &self.demand,
            weight: &self.weight,
            coefficient: &self.coefficient,
        }
    }

    fn rates(&self) -> Vec<f64> {
        max_min(&self.shared()).unwrap()
    }

    /// What each connection uses of each link of its path for a unit of rate.
    fn uses(&self, connection: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let entries = self.offsets[connection]..self.offsets[connection + 1];
        entries.map(|e| (self.links[e] as usize, self.coefficient.get(e).copied().unwrap_or(1.0)))
    }

    fn loads(&self, rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.capacity.len()];
        for (c, rate) in rates.iter().enumerate() {
            self.uses(c).for_each(|(link, coefficient)| loads[link] += coefficient * rate);
        }
        loads
    }

    fn scaled(&self, by: f64) -> Self {
        let scale = |amounts: &[f64]| amounts.iter().map(|amount| amount * by).collect();
        Self { capacity: scale(&self.capacity), demand: scale(&self.demand), ..self.clone() }
    }
}

/// Progressive filling from its definition: in each round every load is summed anew.
fn plain_filling(arrays: &Arrays) -> Vec<f64> {
    let connections = arrays.weight.len();
    let mut rates: Vec<Option<f64>> = vec![None; connections];
    while rates.contains(&None) {
        let frozen: Vec<f64> = rates.iter().map(|rate| rate.unwrap_or(0.0)).collect();
        let rising: Vec<f64> =
            rates.iter().zip(&arrays.weight).map(|(r, w)| if r.is_none() { *w } else { 0.0 }).collect();
        let (loads, slopes) = (arrays.loads(&frozen), arrays.loads(&rising));
        let link_level = |l: usize| (arrays.capacity[l] - loads[l]).max(0.0) / slopes[l];
        let demand_level = |c: usize| arrays.demand[c] / arrays.weight[c];
        let least = |c: usize| arrays.uses(c).map(|(l, _)| link_level(l)).fold(demand_level(c), f64::min);
        let levels: Vec<f64> = (0..connections).map(|c| if rates[c].is_none() { least(c) } else { f64::MAX }).collect();
        let z = levels.iter().copied().fold(f64::MAX, f64::min);
        for c in (0..connections).filter(|&c| levels[c] <= z * (1.0 + 1e-13)) {
            rates[c].get_or_insert(z * arrays.weight[c]);
        }
    }
    rates.into_iter().flatten().collect()
}

/// Whole numbers make ties; dead links and those without limit are among them.
fn capacity() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (1..6).prop_map(f64::from),
        4 => (-3.0..5.0).prop_map(|power| 10f64.powf(power)),
        1 => Just(0.0),
        1 => Just(f64::INFINITY)
    ]
}

fn demand() -> impl Strategy<Value = f64> {
    prop_oneof![6 => Just(f64::INFINITY), 3 => (0..6).prop_map(|n| 0.5 * f64::from(n)), 1 => 1e-4..1e3]
}

/// A connection: its links, each with a coefficient; demand; weight.
type Connection = (Vec<(prop::sample::Index, f64)>, f64, f64);

fn connection(is_unit: bool) -> BoxedStrategy<Connection> {
    let factor = || prop_oneof![2 => Just(1.0), 1 => prop::sample::select(vec![0.05, 0.5, 2.0, 3.7, 12.5])];
    if is_unit {
        (vec((any::<prop::sample::Index>(), Just(1.0)), 0..6), demand(), Just(1.0)).boxed()
    } else {
        (vec((any::<prop::sample::Index>(), factor()), 0..6), demand(), factor()).boxed()
    }
}

fn network() -> impl Strategy<Value = Arrays> {
    let connections = any::<bool>().prop_flat_map(|is_unit| vec(connection(is_unit), 0..60));
    (vec(capacity(), 1..25), connections).prop_map(|(capacity, connections)| arrays(capacity, connections))
}

/// Puts connections into arrays; one that nothing would stop gets a demand of 1.
fn arrays(capacity: Vec<f64>, connections: Vec<Connection>) -> Arrays {
    let mut arrays = Arrays { capacity, offsets: vec![0], ..Arrays::default() };
    for (path, demand, weight) in connections {
        for (index, coefficient) in path {
            arrays.links.push(index.index(arrays.capacity.len()) as u32);
            arrays.coefficient.push(coefficient);
        }
        let first = *arrays.offsets.last().unwrap();
        let is_stopped = arrays.links[first..].iter().any(|&l| arrays.capacity[l as usize].is_finite());
        arrays.offsets.push(arrays.links.len());
        arrays.demand.push(if is_stopped { demand } else { demand.min(1.0) });
        arrays.weight.push(weight);
    }
    arrays
}

fn assert_close(found: &[f64], wanted: &[f64], tolerance: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), wanted.len());
    for (c, (a, b)) in found.iter().zip(wanted).enumerate() {
        prop_assert!((a - b).abs() <= tolerance * b, "connection {}: {} instead of {}", c, a, b);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rates_are_those_of_a_plain_filling(arrays in network()) {
        assert_close(&arrays.rates(), &plain_filling(&arrays), 1e-9)?;
    }

    #[test]
    fn no_link_is_overloaded_and_no_demand_exceeded(arrays in network()) {
        let rates = arrays.rates();
        for (load, capacity) in arrays.loads(&rates).iter().zip(&arrays.capacity) {
            prop_assert!(*load <= capacity * (1.0 + 1e-11), "{} of {}", load, capacity);
        }
        prop_assert!(rates.iter().zip(&arrays.demand).all(|(rate, demand)| rate <= demand));
    }

    #[test]
    fn rates_scale_with_capacities_and_demands(arrays in network()) {
        for by in [1e-6, 1e12] {
            let wanted: Vec<f64> = arrays.rates().iter().map(|rate| rate * by).collect();
            assert_close(&arrays.scaled(by).rates(), &wanted, 1e-9)?;
        }
    }

    #[test]
    fn a_filling_used_again_gives_the_same_bits(several in vec(network(), 2..5)) {
        let mut filling = Filling::default();
        for arrays in &several {
            prop_assert_eq!(filling.solve(&arrays.shared()).unwrap(), &arrays.rates()[..]);
        }
    }
}
