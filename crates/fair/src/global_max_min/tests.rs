//! Answers that one can work out in the head, with their levels and proof.

use super::*;
use crate::certify_levels::certify_levels;
use crate::problem::ProblemParts;
use crate::testing::parts;

const NONE: f64 = f64::INFINITY;

fn proved(parts: ProblemParts) -> Levelled {
    let problem = Arc::new(Problem::new(parts).unwrap());
    let found = global_max_min(&problem);
    let certificate = certify_levels(&problem, &found.path_rates, &found.levels, 1e-12);
    assert!(found.converged && certificate.holds(), "{certificate:?}");
    found
}

fn assert_close(found: &[f64], wanted: &[f64]) {
    let is_close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs());
    assert!(is_close && found.len() == wanted.len(), "{found:?} instead of {wanted:?}");
}

#[test]
fn a_link_is_left_to_those_who_have_no_other() {
    // Links of 4 and 10. Connection 0 may take either, connection 1 the first, connection 2 the second. The first two
    // fill link 0 at level 2, if 0 takes it; then it moves over, and 1 has all 4. The others have 5 each of link 1.
    let found = proved(parts(&[4.0, 10.0], &[&[&[0], &[1]], &[&[0]], &[&[1]]]));
    assert_close(&found.connection_rates, &[5.0, 4.0, 5.0]);
    let levels: Vec<(f64, &[u32])> = found.levels.iter().map(|level| (level.level, &*level.held)).collect();
    assert_eq!(levels, [(4.0, &[1][..]), (5.0, &[0, 2][..])]);
    assert_eq!(found.levels[0].prices, [(0, 1.0)]);
}

#[test]
fn rate_is_passed_on_from_connection_to_connection() {
    // Links of 2, 2 and 8: connection 0 has the first, 1 the first and the second, 2 the second and the third. At level
    // 2 connections 0 and 1 have both narrow links to themselves, if 2 takes the third; they can have no more than 4
    // together. Then 2 has all 8 of the third.
    let found = proved(parts(&[2.0, 2.0, 8.0], &[&[&[0]], &[&[0], &[1]], &[&[1], &[2]]]));
    assert_close(&found.connection_rates, &[2.0, 2.0, 8.0]);
    assert_close(&found.path_rates, &[2.0, 0.0, 2.0, 0.0, 8.0]);
}

#[test]
fn the_paper_s_first_scenario_has_its_exact_rates() {
    // [ludena2021, scenario 1]: prices of 1 on l3 and l6 and 2 on l10 are worth 4. Every path of connection 1 costs 1
    // or more, both of connection 3 cost 2, and connection 2 pays nothing: t + 2 t = 4. Of the 3 of l8 connection 2
    // has the 5 / 3 that are left.
    let mut capacity = [1.0; 10];
    capacity[7] = 3.0;
    let c1: &[&[u32]] = &[&[0, 2, 3, 5, 6], &[0, 2, 4], &[1, 5, 6]];
    let found = proved(parts(&capacity, &[c1, &[&[7]], &[&[7, 8, 2, 3, 5], &[7, 9]]]));
    assert_close(&found.connection_rates, &[4.0 / 3.0, 5.0 / 3.0, 4.0 / 3.0]);
}

#[test]
fn weights_and_demands_are_kept() {
    // 9 for weights 1 and 2: 3 and 6. With a demand of 2 the first has 2, and the other the 7 that are left.
    let both: &[&[&[u32]]] = &[&[&[0]], &[&[0]]];
    let weight = vec![1.0, 2.0];
    assert_close(&proved(ProblemParts { weight, ..parts(&[9.0], both) }).connection_rates, &[3.0, 6.0]);
    let demand = vec![2.0, NONE];
    let found = proved(ProblemParts { demand, ..parts(&[9.0], both) });
    assert_close(&found.connection_rates, &[2.0, 7.0]);
    assert_eq!(found.levels.len(), 1, "a demand that is met needs no prices");
}

#[test]
fn a_path_that_uses_more_of_a_link_counts_for_more() {
    // Link 0 has 6. Connection 0 uses 2 for each unit, connection 1 one: 2 t + t = 6.
    let coefficient = vec![2.0, 1.0];
    let found = proved(ProblemParts { coefficient, ..parts(&[6.0], &[&[&[0]], &[&[0]]]) });
    assert_close(&found.connection_rates, &[2.0, 2.0]);
}

#[test]
fn dead_links_links_without_limit_and_connections_without_paths_are_defined() {
    // Connection 0 has a dead path only, 1 a dead one and one without limit for its demand of 5, 2 no path, 3 asks for
    // nothing, and 4 has the 4 of the last link.
    let connections: &[&[&[u32]]] = &[&[&[0]], &[&[0, 2], &[1]], &[], &[&[2]], &[&[1, 2]]];
    let demand = vec![NONE, 5.0, NONE, 0.0, NONE];
    let found = proved(ProblemParts { demand, ..parts(&[0.0, NONE, 4.0], connections) });
    assert_eq!(found.connection_rates, [0.0, 5.0, 0.0, 0.0, 4.0]);
    assert_eq!(proved(parts(&[], &[])).connection_rates, [0.0; 0]);
}

#[test]
fn rates_scale_with_the_capacities() {
    // Links of 3, 5 and 7: whatever the rates are, they have the unit of the capacities.
    let connections: &[&[&[u32]]] = &[&[&[0], &[1, 2]], &[&[1]], &[&[2], &[0, 1]], &[&[2]]];
    let capacity = [3.0, 5.0, 7.0];
    let rates = proved(parts(&capacity, connections)).connection_rates;
    for unit in [1e-6, 1e12] {
        let found = proved(parts(&capacity.map(|c| c * unit), connections));
        assert_close(&found.connection_rates, &rates.iter().map(|rate| rate * unit).collect::<Vec<_>>());
    }
}

#[test]
fn a_run_in_pieces_comes_to_the_same() {
    let connections: &[&[&[u32]]] = &[&[&[0], &[1, 2]], &[&[1]], &[&[2], &[0, 1]], &[&[2]]];
    let problem = Arc::new(Problem::new(parts(&[3.0, 5.0, 7.0], connections)).unwrap());
    let mut solver = GlobalMaxMin::new(&problem);
    let mut pieces = 1;
    while !solver.run(1) {
        pieces += 1;
        assert!(solver.lack() > 0.0);
    }
    assert!(pieces > 3 && solver.lack() == 0.0);
    assert_eq!(solver.finish(), global_max_min(&problem));
}

#[test]
fn reserved_parts_come_before_shares() {
    // Of 9, 4 are reserved for the first, and the 5 that are left are shared.
    let both: &[&[&[u32]]] = &[&[&[0]], &[&[0]]];
    let first = |reserved: f64| ProblemParts { reserved: vec![reserved, 0.0], ..parts(&[9.0], both) };
    assert_close(&proved(first(4.0)).connection_rates, &[6.5, 2.5]);
    let weight = vec![1.0, 4.0];
    assert_close(&proved(ProblemParts { weight, ..first(4.0) }).connection_rates, &[5.0, 4.0]);
    // A connection that wants less than is reserved for it leaves the rest to others.
    let demand = vec![2.0, NONE];
    assert_close(&proved(ProblemParts { demand, ..first(4.0) }).connection_rates, &[2.0, 7.0]);
}

#[test]
fn reserved_parts_take_any_path() {
    // Links of 4 and 10. Connection 0 may take either and has 3 reserved, connection 1 the first, connection 2 the
    // second. All of both is shared: 3 + 3 t = 14. Connection 0 takes 19 / 3 of the second, and 1 / 3 of the first.
    let reserved = vec![3.0, 0.0, 0.0];
    let found = proved(ProblemParts { reserved, ..parts(&[4.0, 10.0], &[&[&[0], &[1]], &[&[0]], &[&[1]]]) });
    assert_close(&found.connection_rates, &[20.0 / 3.0, 11.0 / 3.0, 11.0 / 3.0]);
}

#[test]
fn where_too_much_is_reserved_all_lack_the_same_share_of_it() {
    // 8 reserved of 6: a quarter is missing. Who has nothing reserved has nothing.
    let three: &[&[&[u32]]] = &[&[&[0]], &[&[0]], &[&[0], &[1]]];
    let reserved = vec![6.0, 2.0, 0.0];
    let found = proved(ProblemParts { reserved, ..parts(&[6.0, 1.0], three) });
    assert_close(&found.connection_rates, &[4.5, 1.5, 1.0]);
    assert!(found.path_rates[2].abs() < 1e-12);
    assert!((found.levels[0].level + 0.25).abs() < 1e-12 && (found.levels[1].level - 1.0).abs() < 1e-12);
}
