//! The dumbbell: pairs of hosts that share one bottleneck.
//!
//! ```text
//! s0 --- \                      / --- t0
//! s1 --- left ============== right --- t1
//! s2 --- /                      \ --- t2
//! ```

use crate::network::Network;

use super::draft::Draft;
use super::error::{Checks, GenerateError};
use super::link::LinkKind;

/// A dumbbell with `pairs` hosts on either side of one bottleneck: 2 pairs + 2 nodes, 2 pairs + 1 two-way links.
///
/// Hosts `s0`, `s1`, ... are attached to router `left`, and `t0`, `t1`, ... to router `right`.
///
/// # Errors
/// Returns an error for no pairs, too many, or an invalid capacity.
pub fn dumbbell(pairs: usize, access: LinkKind, bottleneck: LinkKind) -> Result<Network, GenerateError> {
    let checks = Checks("dumbbell");
    checks.at_least(1, "pairs", pairs)?;
    checks.link_kind("access", access)?;
    checks.link_kind("bottleneck", bottleneck)?;
    let hosts = pairs.saturating_mul(2);
    checks.size(hosts.saturating_add(2), hosts.saturating_add(1))?;

    let mut draft = Draft::new();
    let (left, right) = (draft.node("left"), draft.node("right"));
    draft.join(left, right, bottleneck);
    for pair in 0..pairs {
        let (source, target) = (draft.node(&format!("s{pair}")), draft.node(&format!("t{pair}")));
        draft.join(source, left, access);
        draft.join(right, target, access);
    }
    Ok(draft.build())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::draft::tests::{GIGABIT, degree, is_connected, size};
    use super::*;
    use crate::units::Rate;

    #[test]
    fn three_pairs_make_eight_nodes_and_seven_links() {
        let narrow = LinkKind { capacity: Rate(1e6), ..GIGABIT };
        let network = dumbbell(3, GIGABIT, narrow).unwrap();
        // 3 sources, 3 targets, 2 routers; 6 access links and the bottleneck.
        assert_eq!(size(&network), (8, 7));
        let bottleneck = network.link(network.find_link("left-right").unwrap());
        assert_eq!(bottleneck.capacity, Rate(1e6));
        assert_eq!(network.link(network.find_link("s2-left").unwrap()).capacity, Rate(1e9));
        assert_eq!(degree(&network, network.find_node("left").unwrap()), 4);
    }

    #[test]
    fn bad_parameters_are_refused() {
        let broken = LinkKind { capacity: Rate(f64::NAN), ..GIGABIT };
        assert_eq!(
            dumbbell(0, GIGABIT, GIGABIT).unwrap_err().to_string(),
            "dumbbell: pairs is 0; it must be 1 or more"
        );
        assert!(dumbbell(1, broken, GIGABIT).unwrap_err().to_string().contains("access"));
        assert!(dumbbell(1, GIGABIT, broken).unwrap_err().to_string().contains("bottleneck"));
        assert!(matches!(dumbbell(usize::MAX, GIGABIT, GIGABIT), Err(GenerateError::TooLarge { .. })));
    }

    proptest! {
        #[test]
        fn every_dumbbell_is_connected(pairs in 1usize..50) {
            let network = dumbbell(pairs, GIGABIT, GIGABIT).unwrap();
            prop_assert!(is_connected(&network));
            prop_assert_eq!(size(&network), (2 * pairs + 2, 2 * pairs + 1));
        }
    }
}
