use super::*;
use crate::problem::ProblemParts;

/// Links of 10 and 4; connection 0 crosses both, 1 the first, 2 the second.
fn chain(demand: f64) -> Problem {
    Problem::new(ProblemParts {
        capacity: vec![10.0, 4.0],
        path_offsets: vec![0, 2, 3, 4],
        path_links: vec![0, 1, 0, 1],
        path_connection: vec![0, 1, 2],
        demand: vec![demand, f64::INFINITY, f64::INFINITY],
        weight: vec![1.0; 3],
        coefficient: vec![],
        reserved: vec![],
    })
    .unwrap()
}

#[test]
fn a_fair_allocation_names_a_bottleneck_for_every_path() {
    let certificate = certify(&chain(f64::INFINITY), &[2.0, 8.0, 2.0], 1e-6);
    assert!(certificate.holds());
    assert_eq!(certificate.bottlenecks, [Bottleneck::Link(1), Bottleneck::Link(0), Bottleneck::Link(1)]);
    assert_eq!((certificate.residual, certificate.worst_path), (0.0, None));
}

#[test]
fn a_met_demand_counts_as_a_bottleneck() {
    let certificate = certify(&chain(1.0), &[1.0, 9.0, 3.0], 1e-6);
    assert!(certificate.holds());
    assert_eq!(certificate.bottlenecks[0], Bottleneck::Demand);
}

#[test]
fn the_worst_path_is_named_with_its_shortfall() {
    // Connection 2 has 3 of link 1 and connection 0 has 1: 0 is outdone by two thirds there, and at the first
    // link, where its rival has 9, by 8/9. So its best candidate is link 1 with a shortfall of 2/3.
    let certificate = certify(&chain(f64::INFINITY), &[1.0, 9.0, 3.0], 1e-6);
    assert!(certificate.is_feasible() && !certificate.holds());
    assert_eq!(certificate.worst_path, Some(0));
    assert!((certificate.residual - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(certificate.bottlenecks[0], Bottleneck::None);
}

#[test]
fn slack_is_a_shortfall() {
    // Everyone could have twice as much: the best link of path 1 is half empty.
    let certificate = certify(&chain(f64::INFINITY), &[1.0, 4.0, 1.0], 1e-6);
    assert!((certificate.residual - 0.5).abs() < 1e-12);
}

#[test]
fn overloads_excess_demands_and_bad_rates_are_infeasible() {
    let overloaded = certify(&chain(f64::INFINITY), &[3.0, 8.0, 2.0], 1e-6);
    assert_eq!(overloaded.overloaded_link, Some(1));
    assert!((overloaded.overload - 0.25).abs() < 1e-12 && !overloaded.is_feasible());
    let greedy = certify(&chain(1.0), &[2.0, 8.0, 2.0], 1e-6);
    assert_eq!((greedy.over_demand, greedy.over_demand_connection), (1.0, Some(0)));
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        let certificate = certify(&chain(f64::INFINITY), &[2.0, bad, 2.0], 1e-6);
        assert_eq!(certificate.bad_rate, Some(1));
        assert!(!certificate.holds());
    }
}

/// Connection 0 on links 0 and 1, connection 1 on link 0.
fn beside(capacity: [f64; 2]) -> Problem {
    Problem::new(ProblemParts {
        capacity: capacity.to_vec(),
        path_offsets: vec![0, 1, 2, 3],
        path_links: vec![0, 1, 0],
        path_connection: vec![0, 0, 1],
        demand: vec![f64::INFINITY; 2],
        weight: vec![1.0; 2],
        coefficient: vec![],
        reserved: vec![],
    })
    .unwrap()
}

#[test]
fn a_path_about_to_vanish_counts_by_what_the_other_could_gain() {
    // Connection 0 has 1e-5 of link 0, and the rest on link 1; connection 1 has 1 - 1e-5. So 1 could gain 1.00001e-5.
    let found = certify(&beside([1.0, 10.0]), &[1e-5, 10.0, 1.0 - 1e-5], 1e-3);
    assert!(found.holds() && (found.residual - 1e-5 / (1.0 - 1e-5)).abs() < 1e-15, "{found:?}");
    assert_eq!(found.bottlenecks[2], Bottleneck::Link(0));
}

#[test]
fn little_of_its_own_connection_may_be_much_of_a_link() {
    // Connection 0 has 0.4 of link 0: 4e-7 of its rate. Connection 1 has 0.6 and could gain two thirds. Its level is
    // lower by far more than that, so two thirds it is.
    let found = certify(&beside([1.0, 1e6]), &[0.4, 1e6, 0.6], 1e-2);
    assert!(found.is_feasible() && !found.holds());
    assert_eq!(found.worst_path, Some(2));
    assert!((found.residual - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
}

#[test]
fn what_is_little_from_each_counts_together() {
    // Ninety connections carry 0.001 each of link 0 and 10 on a link of their own; one more has the other 0.91 of link
    // 0. Each by itself takes a thousandth, and without all of them the one could gain 0.09 / 0.91.
    let mut parts = ProblemParts { path_offsets: vec![0], ..Default::default() };
    let mut rates = vec![];
    let mut add = |connection: u32, link: u32, rate: f64| {
        parts.path_connection.push(connection);
        parts.path_links.push(link);
        parts.path_offsets.push(parts.path_links.len());
        rates.push(rate);
    };
    for c in 0..90 {
        add(c, 0, 0.001);
        add(c, c + 1, 10.0);
    }
    add(90, 0, 0.91);
    parts.capacity = std::iter::once(1.0).chain(std::iter::repeat_n(10.0, 90)).collect();
    (parts.demand, parts.weight) = (vec![f64::INFINITY; 91], vec![1.0; 91]);
    let found = certify(&Problem::new(parts).unwrap(), &rates, 1e-2);
    assert!(found.is_feasible() && !found.holds());
    assert!((found.residual - 0.09 / 0.91).abs() < 1e-12, "{}", found.residual);
}

#[test]
fn weights_and_coefficients_count_where_rates_meet() {
    // Connection 0 has the level 10 with weight 1, connection 1 the level 1 with weight 0.5. Connection 0 takes 0.02 of
    // link 0, and connection 1 takes 2 for each unit: it could gain 0.01 beside its 0.5.
    let problem = Problem::new(ProblemParts {
        capacity: vec![1.02, 10.0],
        path_offsets: vec![0, 1, 2, 3],
        path_links: vec![0, 1, 0],
        path_connection: vec![0, 0, 1],
        demand: vec![f64::INFINITY; 2],
        weight: vec![1.0, 0.5],
        coefficient: vec![1.0, 1.0, 2.0],
        reserved: vec![],
    })
    .unwrap();
    let found = certify(&problem, &[0.02, 10.0, 0.5], 1e-2);
    assert!((found.residual - 0.02).abs() < 1e-12, "{found:?}");
}

#[test]
fn dead_links_and_links_without_limit_leave_nothing_out() {
    // On a dead link both have nothing, and it holds them back; a link without limit holds nobody back.
    let found = certify(&beside([0.0, 10.0]), &[0.0, 10.0, 0.0], 1e-9);
    assert!(found.holds() && found.residual == 0.0, "{found:?}");
    let endless = Problem::new(ProblemParts {
        capacity: vec![f64::INFINITY, 10.0],
        path_offsets: vec![0, 2, 3],
        path_links: vec![0, 1, 0],
        path_connection: vec![0, 1],
        demand: vec![f64::INFINITY, 5.0],
        weight: vec![1.0; 2],
        coefficient: vec![],
        reserved: vec![],
    });
    let found = certify(&endless.unwrap(), &[10.0, 4.0], 1e-9);
    assert!((found.residual - 0.2).abs() < 1e-12 && found.worst_path == Some(1), "{found:?}");
}
