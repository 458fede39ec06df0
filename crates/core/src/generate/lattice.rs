//! Lattices: rings, grids and tori.

use crate::network::Network;

use super::draft::Draft;
use super::error::{Checks, GenerateError};
use super::link::LinkKind;

/// A ring of `nodes` nodes `n0`, `n1`, ... with as many two-way links.
///
/// # Errors
/// Returns an error for fewer than three nodes, too many, or an invalid capacity.
pub fn ring(nodes: usize, link: LinkKind) -> Result<Network, GenerateError> {
    let checks = Checks("ring");
    checks.at_least(3, "nodes", nodes)?;
    checks.link_kind("link", link)?;
    checks.size(nodes, nodes)?;

    let mut draft = Draft::new();
    let circle = draft.nodes(nodes, |n| format!("n{n}"));
    for n in 0..nodes {
        draft.join(circle[n], circle[(n + 1) % nodes], link);
    }
    Ok(draft.build())
}

/// A grid of nodes `n{row}.{column}`, each joined to its neighbours in its row and column; if `wrapped`, a torus.
///
/// An open grid has rows (columns - 1) + columns (rows - 1) two-way links, a torus 2 rows columns.
///
/// # Errors
/// Returns an error for no rows or columns, fewer than three of either in a torus (where neighbours would coincide),
/// too many, or an invalid capacity.
pub fn grid(rows: usize, columns: usize, wrapped: bool, link: LinkKind) -> Result<Network, GenerateError> {
    let checks = Checks(if wrapped { "torus" } else { "grid" });
    let least = if wrapped { 3 } else { 1 };
    checks.at_least(least, "rows", rows)?;
    checks.at_least(least, "columns", columns)?;
    checks.link_kind("link", link)?;
    let nodes = rows.saturating_mul(columns);
    // An open grid has one link less in each row and column.
    let missing = if wrapped { 0 } else { rows.saturating_add(columns) };
    checks.size(nodes, nodes.saturating_mul(2).saturating_sub(missing))?;

    let mut draft = Draft::new();
    let lattice = draft.nodes(nodes, |n| format!("n{}.{}", n / columns, n % columns));
    for row in 0..rows {
        for column in 0..columns {
            let here = lattice[row * columns + column];
            if wrapped || column + 1 < columns {
                draft.join(here, lattice[row * columns + (column + 1) % columns], link);
            }
            if wrapped || row + 1 < rows {
                draft.join(here, lattice[(row + 1) % rows * columns + column], link);
            }
        }
    }
    Ok(draft.build())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::draft::tests::{GIGABIT, degree, is_connected, size};
    use super::*;
    use crate::id::NodeId;
    use crate::units::Rate;

    fn degrees(network: &Network) -> Vec<usize> {
        (0..network.nodes().len()).map(|n| degree(network, NodeId::new(n))).collect()
    }

    #[test]
    fn a_ring_has_as_many_links_as_nodes() {
        let network = ring(5, GIGABIT).unwrap();
        assert_eq!(size(&network), (5, 5));
        assert_eq!(degrees(&network), [2; 5]);
        assert!(network.find_link("n4-n0").is_some());
    }

    #[test]
    fn a_grid_of_two_by_three_has_seven_links() {
        let network = grid(2, 3, false, GIGABIT).unwrap();
        // 2 rows of 2 links and 3 columns of 1 link; corners have 2 neighbours, the middle column 3.
        assert_eq!(size(&network), (6, 7));
        assert_eq!(degrees(&network), [2, 3, 2, 2, 3, 2]);
        assert_eq!(size(&grid(1, 1, false, GIGABIT).unwrap()), (1, 0));
    }

    #[test]
    fn every_node_of_a_torus_has_four_neighbours() {
        let network = grid(3, 4, true, GIGABIT).unwrap();
        assert_eq!(size(&network), (12, 24));
        assert_eq!(degrees(&network), [4; 12]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert_eq!(ring(2, GIGABIT).unwrap_err().to_string(), "ring: nodes is 2; it must be 3 or more");
        assert_eq!(grid(2, 5, true, GIGABIT).unwrap_err().to_string(), "torus: rows is 2; it must be 3 or more");
        assert!(grid(3, 0, false, GIGABIT).unwrap_err().to_string().contains("columns is 0"));
        assert!(grid(1 << 20, 1 << 20, false, GIGABIT).is_err());
        // 1500 * 1500 nodes; 2 * 1500 * 1499 two-way links.
        assert_eq!(
            grid(1500, 1500, false, GIGABIT).unwrap_err().to_string(),
            "grid: it would make 8994000 links; there may be 5000000, so ask for fewer"
        );
        let broken = LinkKind { capacity: Rate(-1.0), ..GIGABIT };
        assert!(ring(3, broken).is_err() && grid(3, 3, false, broken).is_err());
    }

    proptest! {
        #[test]
        fn every_lattice_is_connected(rows in 3usize..12, columns in 3usize..12, wrapped: bool) {
            let network = grid(rows, columns, wrapped, GIGABIT).unwrap();
            prop_assert!(is_connected(&network));
            let links = if wrapped { 2 * rows * columns } else { rows * (columns - 1) + columns * (rows - 1) };
            prop_assert_eq!(size(&network), (rows * columns, links));
            prop_assert!(is_connected(&ring(rows * columns, GIGABIT).unwrap()));
        }
    }
}
