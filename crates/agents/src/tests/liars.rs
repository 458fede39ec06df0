//! An agent with a good certificate that lies: it changes packets, sends them again, swallows them. What it costs are the
//! sessions that cross it.

use anabranch_proto::Protocol;
use proptest::prelude::*;

use super::network::{Link, Network};
use crate::AgentId;
use crate::message::Ask;

/// 0 and 4 reach 3 over 1 or over the liar, 2; links 4 and 10 are shared by a session that crosses 2 and others.
///
/// ```text
/// 0 - 1 - 3 - 5
///   \ 2 /
/// ```
const LINKS: [Link; 12] = [
    (0, 0, 1, 20.0),
    (1, 1, 3, 20.0),
    (2, 0, 2, 20.0),
    (3, 2, 3, 20.0),
    (4, 3, 5, 30.0),
    (5, 1, 0, 20.0),
    (6, 3, 1, 20.0),
    (7, 2, 0, 20.0),
    (8, 3, 2, 20.0),
    (9, 5, 3, 30.0),
    (10, 4, 0, 15.0),
    (11, 0, 4, 50.0),
];

const LIAR: u32 = 2;

fn granted(network: &Network, client: u64) -> f64 {
    network.rates.get(&crate::ClientId(client)).map_or(0.0, |rates| rates[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::tests::cases(24)))]

    #[test]
    fn a_liar_costs_the_sessions_that_cross_it(seed in any::<u64>(), is_slbn in any::<bool>(), one_in in 2..40u32) {
        let protocol = Protocol::named(if is_slbn { "slbn" } else { "d-slen" }).unwrap();
        let mut network = Network::new(protocol, 6, &LINKS);
        network.seed(seed);
        // Two over the liar, one of which shares the link to 5 with two honest ones; two honest ones from 0 to 3.
        network.join(0, 1, f64::INFINITY, &[&[2, 3]]);
        network.join(4, 2, f64::INFINITY, &[&[10, 2, 3, 4]]);
        network.join(0, 3, f64::INFINITY, &[&[0, 1]]);
        network.join(4, 4, f64::INFINITY, &[&[10, 0, 1]]);
        network.join(3, 5, f64::INFINITY, &[&[4]]);
        network.join(3, 6, f64::INFINITY, &[&[4]]);
        network.pass(1500, |_| {});
        // 7.5 each over the link from 4, and what they leave for others.
        let rates = |network: &Network| [1, 2, 3, 4, 5, 6].map(|client| granted(network, client));
        let near = |rates: &[f64], wanted: &[f64]| rates.iter().zip(wanted).all(|(one, other)| (one - other).abs() < 1e-3);
        prop_assert!(near(&rates(&network), &[12.5, 7.5, 12.5, 7.5, 11.25, 11.25]), "{:?}", rates(&network));
        network.liar = Some((AgentId(LIAR), one_in));
        let mut kept = 0;
        for _ in 0..40 {
            network.pass(500, |_| {});
            // Those that share a link before the liar with one over it have at least their part, and all have no more than
            // others leave them, but for the rounds in which sums are computed anew and rates stay as they are. What the
            // liar sends on may claim as much as its neighbour allows it.
            let [_, two, three, four, five, six] = rates(&network);
            let have_theirs = four >= 7.499 && three + four >= 19.999;
            let fit = two + four < 22.501 && three + four < 20.001 && five + six < 30.001;
            kept += u32::from(have_theirs && fit);
        }
        prop_assert!(kept >= 34, "in {kept} of 40 moments");
        network.end(LIAR);
        network.pass(40_000, |_| {});
        prop_assert!(near(&rates(&network), &[0.0, 0.0, 10.0, 10.0, 15.0, 15.0]), "{:?}", rates(&network));
        for (agent, client) in [(0, 1), (4, 2), (0, 3), (4, 4), (3, 5), (3, 6)] {
            network.ask(agent, client, Ask::Leave);
        }
        network.pass(1000, |_| {});
        prop_assert!(network.are_clear(), "something stays behind");
    }
}
