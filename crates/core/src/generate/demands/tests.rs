//! Tests of the demands on small networks.

use proptest::prelude::*;

use super::super::draft::tests::GIGABIT;
use super::super::{LinkKind, dumbbell, ring};
use super::*;
use crate::network::NetworkBuilder;

fn rates(demands: &Demands) -> Vec<f64> {
    demands.connections().iter().map(|c| c.demand.expect("these demands have a limit").0).collect()
}

fn names(demands: &Demands) -> Vec<&str> {
    demands.connections().iter().map(|c| c.name.as_str()).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= 1e-9 * e.abs(), "{found:?}, not {expected:?}");
    }
}

#[test]
fn gravity_multiplies_the_masses_of_both_ends() {
    // Masses 1, 2, 3: products 2, 3, 2, 6, 3, 6 sum to 22.
    let network = ring(3, GIGABIT).unwrap();
    let demands = gravity(&network, None, Rate(220.0), &Masses::Given(vec![1.0, 2.0, 3.0]), 1).unwrap();
    assert_eq!(names(&demands), ["n0>n1", "n0>n2", "n1>n0", "n1>n2", "n2>n0", "n2>n1"]);
    assert_close(&rates(&demands), &[20.0, 30.0, 20.0, 60.0, 30.0, 60.0]);
}

#[test]
fn pairs_without_demand_are_left_out() {
    let network = ring(3, GIGABIT).unwrap();
    let demands = gravity(&network, None, Rate(10.0), &Masses::Given(vec![1.0, 0.0, 1e-12]), 1).unwrap();
    assert_eq!(names(&demands), ["n0>n2", "n2>n0"]);
    assert_close(&rates(&demands), &[5.0, 5.0]);
}

#[test]
fn gravity_may_follow_capacity() {
    // One pair: s0 and t0 have 1 Gbit/s, the routers 1 + 3. Of s0, left, right: masses 1, 4, 4; products sum to 48.
    let network = dumbbell(1, GIGABIT, LinkKind { capacity: Rate(3e9), ..GIGABIT }).unwrap();
    let nodes = ["s0", "left", "right"].map(|name| network.find_node(name).unwrap());
    let demands = gravity(&network, Some(&nodes), Rate(48.0), &Masses::Capacity, 1).unwrap();
    assert_close(&rates(&demands), &[4.0, 4.0, 4.0, 16.0, 4.0, 16.0]);
    assert_eq!(names(&demands)[3], "left>right");
}

#[test]
fn exponential_masses_have_the_mean_and_spread_of_their_distribution() {
    let network = ring(10_000, GIGABIT).unwrap();
    let members: Vec<NodeId> = (0..10_000).map(NodeId).collect();
    let masses = node_masses(Checks("gravity"), &network, &members, &Masses::Exponential, 5).unwrap();
    let mean = masses.iter().sum::<f64>() / 1e4;
    let below_median = masses.iter().filter(|&&m| m < std::f64::consts::LN_2).count();
    // Mean 1 and standard deviation 1 / sqrt(10,000); half of all are below ln 2, give or take 50.
    assert!((mean - 1.0).abs() < 0.04 && below_median.abs_diff(5000) < 200, "{mean}, {below_median}");
}

#[test]
fn uniform_demands_are_equal_or_drawn_up_to_the_most() {
    let network = ring(5, GIGABIT).unwrap();
    assert_eq!(rates(&uniform(&network, None, UniformDemand::Equal(Rate(7.0)), 1).unwrap()), [7.0; 20]);
    let network = ring(100, GIGABIT).unwrap();
    let drawn = rates(&uniform(&network, None, UniformDemand::UpTo(Rate(2.0)), 1).unwrap());
    assert!(drawn.iter().all(|&d| d > 0.0 && d < 2.0));
    // 9,900 pairs of mean 1 and standard deviation 2 / sqrt(12) = 0.577.
    let mean = drawn.iter().sum::<f64>() / 9900.0;
    assert!((mean - 1.0).abs() < 4.0 * 0.577 / 9900f64.sqrt(), "{mean}");
}

#[test]
fn hot_spots_have_their_share() {
    // 1 of 4 nodes is hot: 6 of 12 pairs touch it and share 60; the other 6 share 20.
    let network = ring(4, GIGABIT).unwrap();
    let spots = HotSpots { count: 1, share: 0.75, total: Rate(80.0) };
    let mut found = rates(&hot_spots(&network, None, &spots, 3).unwrap());
    found.sort_by(f64::total_cmp);
    let (cold, hot) = ([20.0 / 6.0; 6], [10.0; 6]);
    assert_close(&found, &[cold, hot].concat());
    let all = HotSpots { count: 2, share: 1.0, ..spots };
    // 2 of 4: 12 - 2 pairs touch them, the other 2 have no demand.
    assert_close(&rates(&hot_spots(&network, None, &all, 3).unwrap()), &[8.0; 10]);
}

#[test]
fn repeated_pairs_are_numbered() {
    let network = ring(3, GIGABIT).unwrap();
    let demands = random_pairs(&network, None, 60, None, 1).unwrap();
    assert_eq!(demands.connections().len(), 60);
    assert!(demands.connections().iter().all(|c| c.demand.is_none() && c.source != c.target));
    // All 6 pairs come up among 60; one is left out with probability under 6 (5/6)^60 = 0.0001.
    for pair in ["n0>n1", "n0>n2", "n1>n0", "n1>n2", "n2>n0", "n2>n1", "n0>n1#2"] {
        assert!(names(&demands).contains(&pair), "{pair}");
    }
    let limited = random_pairs(&network, None, 5, Some(Rate(3.0)), 1).unwrap();
    assert_eq!(rates(&limited), [3.0; 5]);
}

#[test]
fn names_that_look_like_others_stay_apart() {
    let mut builder = NetworkBuilder::new();
    let nodes = ["a", "a>b", "b>c", "c"].map(|name| builder.node(name, None).unwrap());
    let network = builder.build();
    let demands = uniform(&network, Some(&nodes), UniformDemand::Equal(Rate(1.0)), 1).unwrap();
    assert!(names(&demands).contains(&"a>b>c") && names(&demands).contains(&"a>b>c#2"));
}

#[test]
fn a_seed_repeats_itself_and_another_differs() {
    let network = ring(30, GIGABIT).unwrap();
    let spots = HotSpots { count: 3, share: 0.5, total: Rate(1.0) };
    let make = |seed| {
        [
            gravity(&network, None, Rate(1.0), &Masses::Exponential, seed).unwrap(),
            uniform(&network, None, UniformDemand::UpTo(Rate(1.0)), seed).unwrap(),
            hot_spots(&network, None, &spots, seed).unwrap(),
            random_pairs(&network, None, 30, None, seed).unwrap(),
        ]
    };
    assert_eq!(make(1), make(1));
    for (one, other) in make(1).iter().zip(&make(2)) {
        assert_ne!(one, other);
    }
}

#[test]
fn bad_parameters_are_refused() {
    let network = ring(4, GIGABIT).unwrap();
    let said = |outcome: Result<Demands, GenerateError>| outcome.unwrap_err().to_string();
    let with = |nodes: &[NodeId]| said(random_pairs(&network, Some(nodes), 1, None, 1));
    assert_eq!(with(&[NodeId(1)]), "random pairs: number of listed nodes is 1; it must be 2 or more");
    assert!(with(&[NodeId(1), NodeId(9)]).contains("no node of that number"));
    assert!(with(&[NodeId(1), NodeId(1)]).contains("listed node is n1; it must be listed once"));
    assert!(said(random_pairs(&NetworkBuilder::new().build(), None, 1, None, 1)).contains("number of nodes is 0"));
    assert!(said(random_pairs(&network, None, 0, None, 1)).contains("count is 0"));
    assert!(said(random_pairs(&network, None, 1, Some(Rate(0.0)), 1)).contains("demand in bit/s is 0"));

    let gravity = |total, masses| said(gravity(&network, None, Rate(total), &masses, 1));
    for total in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(gravity(total, Masses::Exponential).contains("total in bit/s is"));
    }
    assert!(gravity(1.0, Masses::Given(vec![1.0; 3])).contains("one for each of the 4 nodes"));
    assert!(gravity(1.0, Masses::Given(vec![1.0, 1.0, -2.0, 1.0])).contains("mass is -2; that of node `n2`"));
    for masses in [vec![0.0, 5.0, 0.0, 0.0], vec![0.0; 4]] {
        assert!(gravity(1.0, Masses::Given(masses)).contains("two or more nodes must have a mass"));
    }
    let infinite = ring(3, LinkKind { capacity: Rate(f64::INFINITY), ..GIGABIT }).unwrap();
    assert!(said(super::gravity(&infinite, None, Rate(1.0), &Masses::Capacity, 1)).contains("mass is inf"));

    assert!(said(uniform(&network, None, UniformDemand::UpTo(Rate(-1.0)), 1)).contains("demand in bit/s is -1"));
    let spots = |count, share| said(hot_spots(&network, None, &HotSpots { count, share, total: Rate(1.0) }, 1));
    assert!(spots(3, 0.5).contains("count is 3; it must be 1 to 2"));
    assert!(spots(0, 0.5).contains("count is 0"));
    assert!(spots(1, 0.0).contains("share is 0"));
    assert!(spots(5, 1.0).contains("it must be 1 to 4"));
}

proptest! {
    #[test]
    fn demands_sum_to_the_total(nodes in 3usize..30, share in 0.1f64..1.0, hot in 1usize..5, seed: u64) {
        let network = ring(nodes, GIGABIT).unwrap();
        let count = hot.min(nodes - 2);
        let total = Rate(40e9);
        let all = [
            gravity(&network, None, total, &Masses::Exponential, seed).unwrap(),
            hot_spots(&network, None, &HotSpots { count, share, total }, seed).unwrap(),
        ];
        for demands in all {
            prop_assert_eq!(demands.connections().len(), nodes * (nodes - 1));
            let sum: f64 = rates(&demands).iter().sum();
            prop_assert!((sum - total.0).abs() < 1e-9 * total.0, "{}", sum);
        }
    }
}
