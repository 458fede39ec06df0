//! The parking lot: one long connection across several hops, each of which it shares with cross traffic.
//!
//! ```text
//!           s0.0          s1.0
//!            |             |
//! source --- r0 ========== r1 ========== r2 --- target
//!                          |             |
//!                         t0.0          t1.0
//! ```

use crate::network::Network;

use super::draft::Draft;
use super::error::{Checks, GenerateError};
use super::link::LinkKind;

/// A parking lot with `hops` bottlenecks in a row between `source` and `target`, and `cross_pairs` pairs of hosts for
/// each hop.
///
/// Hop h joins routers `r{h}` and `r{h + 1}`; its pair k is host `s{h}.{k}` before and `t{h}.{k}` behind it. This makes
/// hops + 1 routers and 2 (1 + `hops * cross_pairs`) hosts with an access link each.
///
/// # Errors
/// Returns an error for no hops, too many hosts, or an invalid capacity.
pub fn parking_lot(
    hops: usize,
    cross_pairs: usize,
    access: LinkKind,
    bottleneck: LinkKind,
) -> Result<Network, GenerateError> {
    let checks = Checks("parking lot");
    checks.at_least(1, "hops", hops)?;
    checks.link_kind("access", access)?;
    checks.link_kind("bottleneck", bottleneck)?;
    let hosts = hops.saturating_mul(cross_pairs).saturating_add(1).saturating_mul(2);
    checks.size(hosts.saturating_add(hops).saturating_add(1), hosts.saturating_add(hops))?;

    let mut draft = Draft::new();
    let routers = draft.nodes(hops + 1, |r| format!("r{r}"));
    for hop in routers.windows(2) {
        draft.join(hop[0], hop[1], bottleneck);
    }
    let (source, target) = (draft.node("source"), draft.node("target"));
    draft.join(source, routers[0], access);
    draft.join(routers[hops], target, access);
    for hop in 0..hops {
        for pair in 0..cross_pairs {
            let (source, target) = (draft.node(&format!("s{hop}.{pair}")), draft.node(&format!("t{hop}.{pair}")));
            draft.join(source, routers[hop], access);
            draft.join(routers[hop + 1], target, access);
        }
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
    fn three_hops_with_a_cross_pair_each_make_twelve_nodes() {
        let network = parking_lot(3, 1, GIGABIT, LinkKind { capacity: Rate(1e6), ..GIGABIT }).unwrap();
        // 4 routers and 2 + 3 * 2 hosts; 3 hops and 8 access links.
        assert_eq!(size(&network), (12, 11));
        let degree_of = |name| degree(&network, network.find_node(name).unwrap());
        // An end router has one hop, the long host and one cross host; a middle router two hops and two cross hosts.
        assert_eq!([degree_of("r0"), degree_of("r1"), degree_of("r3"), degree_of("t2.0")], [3, 4, 3, 1]);
        assert_eq!(network.link(network.find_link("r2-r3").unwrap()).capacity, Rate(1e6));
        assert!(network.find_link("s2.0-r2").is_some() && network.find_link("r3-t2.0").is_some());
    }

    #[test]
    fn bad_parameters_are_refused() {
        let broken = LinkKind { capacity: Rate(-5.0), ..GIGABIT };
        assert!(parking_lot(0, 1, GIGABIT, GIGABIT).unwrap_err().to_string().contains("hops is 0"));
        assert!(parking_lot(1, 1, broken, GIGABIT).is_err());
        assert!(parking_lot(1, 1, GIGABIT, broken).is_err());
        assert!(parking_lot(1 << 20, 1 << 20, GIGABIT, GIGABIT).is_err());
    }

    proptest! {
        #[test]
        fn every_parking_lot_is_connected(hops in 1usize..20, cross_pairs in 0usize..5) {
            let network = parking_lot(hops, cross_pairs, GIGABIT, GIGABIT).unwrap();
            prop_assert!(is_connected(&network));
            let hosts = 2 + 2 * hops * cross_pairs;
            prop_assert_eq!(size(&network), (hosts + hops + 1, hosts + hops));
        }
    }
}
