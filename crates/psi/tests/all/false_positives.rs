//! How often a link beside a path matches its filter, counted and by the formula.

use crate::walks::{graph, walk};
use anabranch_core::LinkId;
use anabranch_core::random::{Purpose, stream};
use anabranch_psi::{
    Filter, Identities, IdentityParameters, Ones, adjacent, expected_fill, expected_strays, false_positive_rate,
    filter_of, forward,
};

fn is_within(share: f64, a: f64, b: f64) -> bool {
    (a - b).abs() <= share * b
}

#[test]
fn the_formula_gives_the_known_numbers() {
    // m = 256, k = 5: the fill 1 - (255/256)^(5 n), and its fifth power.
    let known = [(8, 0.145, 6e-5), (16, 0.269, 0.0014), (24, 0.375, 0.0074), (32, 0.465, 0.022), (40, 0.543, 0.047)];
    for (links, fill, rate) in known {
        assert!(is_within(0.005, expected_fill(256, 5 * links), fill), "{links} links");
        assert!(is_within(0.08, false_positive_rate(256, 5, links), rate), "{links} links");
    }
    assert!(expected_fill(256, 0) == 0.0 && expected_fill(256, u64::MAX) <= 1.0);
}

#[test]
fn sixteen_links_fill_a_filter_as_expected_over_a_thousand_draws() {
    let (mut fill, mut matched) = (0.0, 0);
    for seed in 0..1000 {
        // Links 0 to 15 are the path, 1,000 others are tried.
        let identities = Identities::new(1016, IdentityParameters { tables: 1, seed, ..Default::default() }).unwrap();
        let filter = Filter::new(&identities, 0, &(0..16).map(LinkId).collect::<Vec<_>>());
        fill += filter.fill(&identities) / 1000.0;
        matched += (16..1016).filter(|&l| filter.matches(&identities, LinkId(l))).count();
    }
    let rate = matched as f64 / 1e6;
    println!("fill {fill:.4}, rate {rate:.5}");
    assert!(is_within(0.2, fill, 0.269) && is_within(0.2, rate, 0.0014), "fill {fill}, rate {rate}");
}

/// The rate without the formula's assumption that the ones of an identity are drawn independently.
///
/// Each of n identities of k ones leaves j given bits alone with probability C(m - j, k) / C(m, k); of the k bits of
/// the link, all must be set by some.
fn exact_rate(bits: u32, ones: u32, links: i32) -> f64 {
    let choose = |n: u32, k: u32| (0..k).map(|i| f64::from(n - i) / f64::from(k - i)).product::<f64>();
    let spared = |j: u32| choose(ones, j) * (choose(bits - j, ones) / choose(bits, ones)).powi(links);
    (0..=ones).map(|j| if j % 2 == 0 { spared(j) } else { -spared(j) }).sum()
}

/// Adjacent links of random paths of so many links: how many there were, and how many matched.
fn counted(links: usize) -> (usize, usize) {
    let (mut trials, mut matched) = (0, 0);
    let mut rng = stream(7, Purpose::Demands, links as u32);
    for seed in 0..32 {
        let network = graph(seed);
        let own = IdentityParameters { tables: 32, seed, ..Default::default() };
        let identities = Identities::new(network.links().len(), own).unwrap();
        for _ in 0..250 {
            let path = walk(&network, links, &mut rng);
            let beside = adjacent(&network, &path);
            for table in 0..32 {
                let filter = Filter::new(&identities, table, &path);
                matched += beside.iter().filter(|&&link| filter.matches(&identities, link)).count();
            }
            trials += 32 * beside.len();
        }
    }
    (trials, matched)
}

#[test]
fn links_beside_a_path_match_as_often_as_the_formula_says() {
    for links in (4..=40).step_by(4) {
        let (trials, matched) = counted(links);
        let formula = false_positive_rate(256, 5, links as u64);
        let (rate, expected) = (matched as f64 / trials as f64, formula * trials as f64);
        let exact = exact_rate(256, 5, links as i32);
        println!("{links} links: counted {rate:.3e}, formula {formula:.3e}, exact {exact:.3e}, {expected:.0} expected");
        // Of 400 the standard deviation is 20, a twentieth: four of these are what is allowed.
        assert!(expected < 400.0 || is_within(0.2, rate, formula), "{links} links: {rate} and {formula}");
        assert!(expected < 400.0 || is_within(0.1, rate, exact), "{links} links: {rate} and {exact}");
        assert!(expected >= 400.0 || links < 8, "{links} links: too few to say");
    }
}

#[test]
fn a_choice_of_eight_tables_spares_most_false_positives() {
    let mut rng = stream(8, Purpose::Demands, 0);
    let (mut blind, mut chosen, mut expected) = (0, 0, 0.0);
    for seed in 0..8 {
        let network = graph(seed);
        let own = IdentityParameters { seed, ..Default::default() };
        let identities = Identities::new(network.links().len(), own).unwrap();
        for _ in 0..100 {
            let path = walk(&network, 24, &mut rng);
            let from = network.link(path[0]).source;
            let strays = |filter: &Filter| forward(&network, &identities, filter, from).unwrap().strays(&path);
            let every: Vec<usize> = (0..8).map(|t| strays(&Filter::new(&identities, t, &path))).collect();
            let best = strays(&filter_of(&network, &identities, &path).unwrap());
            assert_eq!(best, *every.iter().min().unwrap());
            blind += every[0];
            chosen += best;
            expected += expected_strays(&network, &identities, &path);
        }
    }
    println!(
        "strays on 800 paths of 24 links: {blind} with the first table, {chosen} with the best, {expected:.0} expected"
    );
    assert!(10 * chosen < blind);
    // Strays of strays come on top of the adjacent links that the expectation counts.
    assert!(is_within(0.25, blind as f64, expected), "{blind} and {expected}");
}

#[test]
fn the_first_256_links_of_blackadder_have_no_false_positives() {
    let mut rng = stream(9, Purpose::Demands, 0);
    let network = anabranch_core::generate::random_regular(
        40,
        6,
        anabranch_core::generate::LinkKind { capacity: anabranch_core::Rate(1.0), delay: anabranch_core::Span(0) },
        1,
    )
    .unwrap();
    assert_eq!(network.links().len(), 240);
    let own = IdentityParameters { ones: Ones::Growing, tables: 1, ..Default::default() };
    let identities = Identities::new(240, own).unwrap();
    for _ in 0..50 {
        let path = walk(&network, 24, &mut rng);
        let filter = filter_of(&network, &identities, &path).unwrap();
        let journey = forward(&network, &identities, &filter, network.link(path[0]).source).unwrap();
        assert_eq!(journey.along(&path), path);
        assert_eq!(journey.strays(&path), 0);
        assert!(expected_strays(&network, &identities, &path) == 0.0);
    }
}

#[test]
fn the_later_links_of_blackadder_match_as_often_as_expected() {
    // 1,200 links with 1 to 5 ones: the fewer, the more often a link matches.
    let mut rng = stream(10, Purpose::Demands, 0);
    let (mut matched, mut expected) = (0, 0.0);
    for seed in 0..8 {
        let network = graph(0);
        let own = IdentityParameters { ones: Ones::Growing, tables: 1, seed, ..Default::default() };
        let identities = Identities::new(network.links().len(), own).unwrap();
        for _ in 0..200 {
            let path = walk(&network, 16, &mut rng);
            let filter = Filter::new(&identities, 0, &path);
            matched += adjacent(&network, &path).iter().filter(|&&link| filter.matches(&identities, link)).count();
            expected += expected_strays(&network, &identities, &path);
        }
    }
    println!("growing ones, 1,600 paths of 16 links: {matched} matched, {expected:.0} expected");
    assert!(is_within(0.1, matched as f64, expected), "{matched} and {expected}");
}
