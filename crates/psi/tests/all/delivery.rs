//! What false positives do to packets: they cost links, but never keep a packet from its receiver.

use anabranch_core::random::{Purpose, stream};
use anabranch_core::{LinkId, Network, NetworkBuilder, NodeId, Rate, Span};
use anabranch_psi::{Filter, Identities, IdentityParameters, MOST_HOPS, Ones, filter_of, forward};
use proptest::prelude::*;
use rand::{Rng, RngExt};

/// Links between nodes given by number, two-way or one-way; those from a node to itself are left out.
fn network(nodes: usize, ends: &[(usize, usize, bool)]) -> Network {
    let mut builder = NetworkBuilder::new();
    let ids: Vec<_> = (0..nodes).map(|n| builder.node(&n.to_string(), None).unwrap()).collect();
    for &(a, b, two_way) in ends {
        let (a, b) = (ids[a % nodes], ids[b % nodes]);
        if a != b && two_way {
            builder.two_way(None, a, b, Rate(1.0), Span(0)).unwrap();
        } else if a != b {
            builder.link(None, a, b, Rate(1.0), Span(0)).unwrap();
        }
    }
    builder.build()
}

/// A path from a node on, without a loop, as far as it happens to lead.
fn wander(network: &Network, rng: &mut impl Rng) -> Vec<LinkId> {
    let mut at = NodeId::new(rng.random_range(0..network.nodes().len()));
    let mut seen = vec![at];
    let mut path = Vec::new();
    loop {
        let ahead = network.links_from(at).iter().filter(|&&l| !seen.contains(&network.link(l).target));
        let next: Vec<LinkId> = ahead.copied().collect();
        if next.is_empty() || (!path.is_empty() && rng.random_range(0..8) == 0) {
            return path;
        }
        path.push(next[rng.random_range(0..next.len())]);
        at = network.link(path[path.len() - 1]).target;
        seen.push(at);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// With identities so short that a great part of all links match.
    #[test]
    fn the_receiver_gets_the_packet_whatever_else_matches(
        nodes in 2usize..24,
        ends in prop::collection::vec((0usize..24, 0usize..24, any::<bool>()), 1..80),
        bits in 16u32..64,
        ones in 0u32..4,
        seed in any::<u64>(),
    ) {
        let network = network(nodes, &ends);
        let ones = if ones == 0 { Ones::Growing } else { Ones::Each(ones) };
        let own = IdentityParameters { bits, ones, tables: 2, most_fill: 1.0, seed };
        let identities = Identities::new(network.links().len(), own).unwrap();
        let path = wander(&network, &mut stream(seed, Purpose::Demands, 0));
        prop_assume!(!path.is_empty());
        let from = network.link(path[0]).source;
        for table in 0..2 {
            let filter = Filter::new(&identities, table, &path);
            let Ok(journey) = forward(&network, &identities, &filter, from) else {
                prop_assert_eq!(filter.bits.count(), bits);
                continue;
            };
            prop_assert!(path.iter().all(|&l| journey.reaches(&network, network.link(l).target)));
            // No link is taken twice, so every loop ends; and no copy goes too far.
            let mut taken: Vec<_> = journey.hops.iter().map(|hop| hop.link).collect();
            taken.sort_unstable();
            prop_assert!(taken.windows(2).all(|two| two[0] != two[1]));
            prop_assert!(journey.hops.iter().all(|hop| hop.depth <= MOST_HOPS));
            // Every link begins where the one before it ends, and none goes straight back.
            for hop in &journey.hops {
                let before = hop.after.map(|number| journey.hops[number].link);
                let at = before.map_or(from, |link| network.link(link).target);
                prop_assert_eq!(network.link(hop.link).source, at);
                prop_assert!(before.is_none_or(|link| network.link(link).twin != Some(hop.link)));
            }
            // Branches are what is not on the path, each link once.
            let branches = journey.branches(&network, &path);
            let stray: usize = branches.iter().map(|branch| branch.links.len()).sum();
            prop_assert_eq!(stray, journey.strays(&path));
            prop_assert!(branches.iter().all(|branch| network.link(branch.links[0]).source == branch.from));
            prop_assert_eq!(stray + journey.along(&path).len(), journey.hops.len());
        }
        // The table chosen is no worse than either.
        if let Ok(best) = filter_of(&network, &identities, &path) {
            prop_assert!(forward(&network, &identities, &best, from).is_ok());
        }
    }
}

#[test]
fn a_long_path_has_no_filter_and_says_so() {
    // 300 links in a row: of 5 ones each, far over what a filter holds; with a bit each it is too long to travel.
    let ends: Vec<_> = (0..300).map(|n| (n, n + 1, false)).collect();
    let network = network(301, &ends);
    let path: Vec<LinkId> = (0..300).map(LinkId).collect();
    let refusal = |length: usize| {
        let identities = Identities::new(300, IdentityParameters::default()).unwrap();
        filter_of(&network, &identities, &path[..length]).unwrap_err().to_string()
    };
    assert!(refusal(300).starts_with("a packet may take 255 links, and the path has 300"), "{}", refusal(300));
    assert!(refusal(100).contains("would match too much; it may be at most 0.7"), "{}", refusal(100));
}
