//! Networks whose answers can be worked out in the head, and arrays that are refused.

use anabranch_filling::{FillingError, SinglePath, max_min};

const NONE: f64 = f64::INFINITY;

/// Rates over these links and paths; demands and weights may be empty.
fn rates(capacity: &[f64], paths: &[&[u32]], demand: &[f64], weight: &[f64]) -> Vec<f64> {
    let mut offsets = vec![0];
    offsets.extend(paths.iter().scan(0, |end, path| {
        *end += path.len();
        Some(*end)
    }));
    let links = paths.concat();
    max_min(&SinglePath { capacity, offsets: &offsets, links: &links, demand, weight, coefficient: &[] }).unwrap()
}

fn assert_close(found: &[f64], wanted: &[f64]) {
    let close = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs().max(1.0));
    assert!(close && found.len() == wanted.len(), "{found:?} instead of {wanted:?}");
}

#[test]
fn the_short_connection_takes_what_the_long_one_leaves() {
    // Links 10 and 4. The long connection is held to 2 at the second, so the short one gets 8 at the first.
    assert_close(&rates(&[10.0, 4.0], &[&[0, 1], &[0], &[1]], &[], &[]), &[2.0, 8.0, 2.0]);
}

#[test]
fn three_links_of_ten_twenty_and_thirty() {
    // A=10, B=20, C=30; s1 on A B C, s2 on A, s3 on B, s4 on C, s5 on B C. A: 10/2 = 5 for s1, s2. B: 15 are
    // left for s3, s5: 7.5 each. C: 30 - 5 - 7.5 = 17.5 for s4.
    let paths: [&[u32]; 5] = [&[0, 1, 2], &[0], &[1], &[2], &[1, 2]];
    assert_close(&rates(&[10.0, 20.0, 30.0], &paths, &[], &[]), &[5.0, 5.0, 7.5, 17.5, 7.5]);
    // With a demand of 4 for s5: B has 20 - 5 - 4 = 11 for s3, C has 30 - 5 - 4 = 21 for s4.
    let demand = [NONE, NONE, NONE, NONE, 4.0];
    assert_close(&rates(&[10.0, 20.0, 30.0], &paths, &demand, &[]), &[5.0, 5.0, 11.0, 21.0, 4.0]);
}

#[test]
fn a_link_that_rises_a_little_lets_another_go_first() {
    // A=10 and B=10.002; s1 on A with a demand of 4.998, s2 on A B, s3 on B. A seems to fill at 5, but when s1 has its
    // demand, 10 - 4.998 = 5.002 are left for s2. B fills before, at 10.002/2 = 5.001.
    let found = rates(&[10.0, 10.002], &[&[0], &[0, 1], &[1]], &[4.998, NONE, NONE], &[]);
    assert_close(&found, &[4.998, 5.001, 5.001]);
}

#[test]
fn rates_follow_the_weights() {
    // 12 in proportion 1 : 2 : 3.
    assert_close(&rates(&[12.0], &[&[0], &[0], &[0]], &[], &[1.0, 2.0, 3.0]), &[2.0, 4.0, 6.0]);
}

#[test]
fn coefficients_count_what_a_unit_of_rate_uses() {
    // 12 among three that use 1, 2 and 3 for each unit: 12 / (1 + 2 + 3) = 2 for each.
    let shared = SinglePath {
        capacity: &[12.0],
        offsets: &[0, 1, 2, 3],
        links: &[0, 0, 0],
        coefficient: &[1.0, 2.0, 3.0],
        ..SinglePath::default()
    };
    assert_close(&max_min(&shared).unwrap(), &[2.0, 2.0, 2.0]);
}

#[test]
fn who_takes_a_link_twice_uses_it_twice() {
    // 12 / 3 = 4 for both: 4 once and 4 twice.
    assert_close(&rates(&[12.0], &[&[0], &[0, 0]], &[], &[]), &[4.0, 4.0]);
    // With weights 1e9 and 1 the heavy one has its demand of 2; the light one uses the other 10 with a rate of 5.
    assert_close(&rates(&[12.0], &[&[0], &[0, 0]], &[2.0, NONE], &[1e9, 1.0]), &[2.0, 5.0]);
}

#[test]
fn dead_links_and_empty_demands_give_rate_zero() {
    let found = rates(&[0.0, 6.0], &[&[0, 1], &[1], &[1]], &[NONE, 0.0, NONE], &[]);
    assert_close(&found, &[0.0, 0.0, 6.0]);
    assert_close(&rates(&[1e-101], &[&[0]], &[], &[]), &[0.0]);
}

#[test]
fn links_without_limit_never_bind() {
    assert_close(&rates(&[NONE, 6.0], &[&[0], &[0, 1]], &[5.0, NONE], &[]), &[5.0, 6.0]);
}

#[test]
fn a_path_without_links_has_its_demand() {
    assert_close(&rates(&[6.0], &[&[], &[0]], &[5.0, NONE], &[]), &[5.0, 6.0]);
}

#[test]
fn nothing_is_shared_among_nobody() {
    assert_close(&rates(&[6.0], &[], &[], &[]), &[]);
    assert_close(&rates(&[], &[], &[], &[]), &[]);
}

#[test]
fn a_light_connection_beside_a_heavy_one_is_not_lost() {
    // The heavy one has its demand of 1; the light one has the other 9, though its weight is 1e-18 of the other's.
    assert_close(&rates(&[10.0], &[&[0], &[0]], &[1.0, NONE], &[1e9, 1e-9]), &[1.0, 9.0]);
}

#[test]
fn a_million_on_one_link_use_all_of_it_and_no_more() {
    // A weight of 0.1 is not exact in bits; nine in ten have their demand, so most of the slope is subtracted.
    let offsets: Vec<usize> = (0..=1_000_000).collect();
    let (links, weight) = (vec![0; 1_000_000], vec![0.1; 1_000_000]);
    let demand: Vec<f64> = (0..1_000_000).map(|c| if c < 900_000 { 1e-9 } else { NONE }).collect();
    let shared = SinglePath { capacity: &[1.0], offsets: &offsets, links: &links, ..SinglePath::default() };
    let found = max_min(&shared).unwrap();
    assert!(found.iter().all(|rate| (rate * 1e6 - 1.0).abs() <= 1e-10));
    let found = max_min(&SinglePath { demand: &demand, weight: &weight, ..shared }).unwrap();
    // 1 - 900,000 * 1e-9 = 0.9991, for 100,000.
    assert!(found[..900_000].iter().all(|rate| (rate * 1e9 - 1.0).abs() <= 1e-10));
    assert!(found[900_000..].iter().all(|rate| (rate * 1e5 / 0.9991 - 1.0).abs() <= 1e-10));
}

#[test]
fn each_mistake_is_told_with_its_place() {
    let good = SinglePath { capacity: &[1.0, NONE], offsets: &[0, 1, 3], links: &[0, 0, 1], ..SinglePath::default() };
    let said = |shared: SinglePath<'_>| max_min(&shared).unwrap_err().to_string();
    assert!(max_min(&good).is_ok());
    let capacity = &[1.0, f64::NAN];
    assert_eq!(said(SinglePath { capacity, ..good }), "link 1: capacity is NaN; it must be 0 to 1e100, or infinite");
    assert!(said(SinglePath { weight: &[1.0, 0.0], ..good }).starts_with("connection 1: weight is 0"));
    assert!(said(SinglePath { demand: &[-1.0, 1.0], ..good }).starts_with("connection 0: demand is -1"));
    assert!(said(SinglePath { demand: &[1.0], ..good }).contains("demand has 1 values; it must have 2"));
    assert!(said(SinglePath { coefficient: &[1.0, 1.0, -2.0], ..good }).starts_with("entry 2: coefficient is -2"));
    assert!(said(SinglePath { links: &[0, 0, 7], ..good }).contains("connection 1: there is no link 7; there are 2"));
    assert!(said(SinglePath { offsets: &[], ..good }).contains("offsets[0]: it is missing"));
    assert!(said(SinglePath { offsets: &[1, 1, 3], ..good }).contains("offsets[0]: it is not 0"));
    assert!(said(SinglePath { offsets: &[0, 2, 1], ..good }).contains("offsets[2]: it is less than the one before"));
    assert!(said(SinglePath { offsets: &[0, 1, 2], ..good }).contains("offsets[2]: it is not the length of links"));
    let unlimited = SinglePath { offsets: &[0, 1, 1], links: &[0], ..good };
    assert_eq!(max_min(&unlimited).unwrap_err(), FillingError::Unlimited { connection: 1 });
    assert!(said(SinglePath { links: &[0, 1, 1], ..good }).starts_with("connection 1: no link on its path"));
}
