//! Waxman's random graph: nodes at random on a square, and near nodes are more likely to be joined [waxman1988].
//!
//! Two nodes at distance d are joined with probability `alpha exp(-d / (beta L))`.
//!
//! differs: L is the diagonal of the unit square, sqrt(2), not the distance of the farthest two nodes, so that the
//! probability of a link does not depend on the other nodes. Besides, alpha is the factor in front, as in most later
//! papers and in GT-ITM, where the paper has beta.
//!
//! A graph that is not connected is not drawn again, which would favour dense graphs and for many parameters never end.
//! Instead its parts are joined by the fewest links of the least total length.

use rand::{Rng, RngExt};

use crate::id::NodeId;
use crate::network::Network;
use crate::random::{Purpose, stream};

use super::draft::Draft;
use super::error::{Checks, GenerateError};
use super::link::LinkRule;

const CHECKS: Checks = Checks("Waxman");

/// Greatest number of nodes, since the time to draw a graph grows with the square of the number.
const MOST_NODES: usize = 100_000;

/// Size, probabilities and links of a Waxman graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaxmanParameters {
    /// Number of nodes.
    pub nodes: usize,
    /// Probability of a link at distance zero; over 0 and at most 1.
    pub alpha: f64,
    /// Reach of the links, as a part of the diagonal; positive.
    pub beta: f64,
    /// Capacity and delay of the links; the unit of length is the side of the square.
    pub link: LinkRule,
}

/// A connected Waxman graph of nodes `n0`, `n1`, ...
///
/// # Errors
/// Returns an error for no nodes, too many, invalid probabilities or an invalid link rule.
pub fn waxman(parameters: &WaxmanParameters, seed: u64) -> Result<Network, GenerateError> {
    CHECKS.at_least(1, "nodes", parameters.nodes)?;
    CHECKS.probability("alpha", parameters.alpha)?;
    CHECKS.positive("beta", parameters.beta)?;
    CHECKS.link_rule("link", &parameters.link)?;
    let few = parameters.nodes <= MOST_NODES;
    CHECKS.require(few, "nodes", parameters.nodes, "it must be 100000 or fewer: each pair of them is drawn")?;

    let mut rng = stream(seed, Purpose::Topology, 0);
    let points: Vec<Point> = (0..parameters.nodes).map(|_| (rng.random(), rng.random())).collect();
    let mut edges = draw_edges(parameters, &points, &mut rng)?;
    edges.extend(edges_between_parts(&points, &edges));
    CHECKS.size(points.len(), edges.len())?;

    let mut delays = stream(seed, Purpose::Delays, 0);
    let mut draft = Draft::new();
    draft.nodes(points.len(), |n| format!("n{n}"));
    for (a, b) in edges {
        let kind = parameters.link.draw(distance(points[a], points[b]), &mut delays);
        draft.join(NodeId::new(a), NodeId::new(b), kind);
    }
    Ok(draft.build())
}

/// A point on the unit square.
type Point = (f64, f64);

fn distance(a: Point, b: Point) -> f64 {
    ((a.0 - b.0).powi(2) + (a.1 - b.1).powi(2)).sqrt()
}

/// # Errors
/// Returns an error as soon as there are too many edges.
fn draw_edges(
    parameters: &WaxmanParameters,
    points: &[Point],
    rng: &mut impl Rng,
) -> Result<Vec<(usize, usize)>, GenerateError> {
    let reach = parameters.beta * std::f64::consts::SQRT_2;
    let mut edges = Vec::new();
    for (a, &here) in points.iter().enumerate() {
        for (b, &there) in points.iter().enumerate().skip(a + 1) {
            let draw: f64 = rng.random();
            // The value alpha bounds the probability, and saves most exponentials where it is small.
            if draw < parameters.alpha && draw < parameters.alpha * (-distance(here, there) / reach).exp() {
                edges.push((a, b));
            }
        }
        CHECKS.size(points.len(), edges.len())?;
    }
    Ok(edges)
}

/// The shortest edges that join the parts left by `edges` into one: a minimum spanning tree of the parts.
///
/// It uses Prim's algorithm, in time quadratic in the number of nodes: the part of node 0 grows by the nearest other
/// part.
fn edges_between_parts(points: &[Point], edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut neighbours = vec![Vec::new(); points.len()];
    for &(a, b) in edges {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut joined = vec![false; points.len()];
    // For each node outside the part: the nearest node inside, and its distance.
    let mut nearest = vec![(f64::INFINITY, 0); points.len()];
    let mut added = Vec::new();
    let mut entry = Some(0);
    while let Some(first) = entry {
        let mut part = vec![first];
        joined[first] = true;
        while let Some(node) = part.pop() {
            for (other, near) in nearest.iter_mut().enumerate() {
                let d = distance(points[node], points[other]);
                if d < near.0 {
                    *near = (d, node);
                }
            }
            for &next in neighbours[node].iter().filter(|&&n| !std::mem::replace(&mut joined[n], true)) {
                part.push(next);
            }
        }
        entry = (0..points.len()).filter(|&n| !joined[n]).min_by(|&a, &b| nearest[a].0.total_cmp(&nearest[b].0));
        added.extend(entry.map(|next| (nearest[next].1, next)));
    }
    added
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::draft::tests::{is_connected, shape, size};
    use super::super::link::DelayRule;
    use super::*;
    use crate::units::{Rate, Span};

    fn parameters(nodes: usize, alpha: f64, beta: f64) -> WaxmanParameters {
        WaxmanParameters {
            nodes,
            alpha,
            beta,
            link: LinkRule { capacity: Rate(1e9), delay: DelayRule::PerLength(Span::ms(1)) },
        }
    }

    #[test]
    fn certain_edges_make_a_complete_graph() {
        // exp(-d / (beta L)) is 1 to 15 digits for a beta of 1e15.
        assert_eq!(size(&waxman(&parameters(10, 1.0, 1e15), 1).unwrap()), (10, 45));
    }

    #[test]
    fn improbable_edges_leave_a_shortest_spanning_tree() {
        let points = [(0.0, 0.0), (0.9, 0.0), (0.1, 0.0), (0.5, 0.0)];
        assert_eq!(edges_between_parts(&points, &[]), [(0, 2), (2, 3), (3, 1)]);
        // With 0 and 1 joined, 3 is as near to 2 as to 1: 0.4; the first found stays.
        assert_eq!(edges_between_parts(&points, &[(0, 1)]).len(), 2);
        assert_eq!(size(&waxman(&parameters(100, 1e-9, 0.1), 1).unwrap()), (100, 99));
    }

    #[test]
    fn edges_are_as_frequent_as_their_probability_says() {
        // With beta infinite in effect each of 200 * 199 / 2 = 19,900 pairs has probability 0.3:
        // mean 5,970, standard deviation sqrt(19,900 * 0.3 * 0.7) = 64.6.
        let (_, links) = size(&waxman(&parameters(200, 0.3, 1e15), 7).unwrap());
        assert!((links as f64 - 5970.0).abs() < 4.0 * 64.6, "{links}");
    }

    #[test]
    fn delay_grows_with_distance() {
        let network = waxman(&parameters(50, 0.5, 0.2), 3).unwrap();
        // A unit of length takes 1 ms, and no two points are farther apart than sqrt(2).
        let longest = network.links().iter().map(|l| l.delay).max().unwrap();
        assert!(longest > Span::us(200) && longest < Span(1_414_213_563));
    }

    #[test]
    fn a_seed_repeats_itself_and_another_differs() {
        let make = |seed| waxman(&parameters(60, 0.4, 0.2), seed).unwrap();
        assert_eq!(shape(&make(1)), shape(&make(1)));
        assert_ne!(shape(&make(1)), shape(&make(2)));
    }

    #[test]
    fn bad_parameters_are_refused() {
        let said = |p: WaxmanParameters| waxman(&p, 1).unwrap_err().to_string();
        assert!(said(parameters(0, 0.5, 0.5)).contains("nodes is 0"));
        assert_eq!(said(parameters(5, 1.5, 0.5)), "Waxman: alpha is 1.5; it must be over 0 and at most 1");
        assert!(said(parameters(5, f64::NAN, 0.5)).contains("alpha is NaN"));
        assert!(said(parameters(5, 0.5, 0.0)).contains("beta is 0"));
        assert!(said(parameters(5, 0.5, f64::INFINITY)).contains("beta is inf"));
        assert!(said(parameters(100_001, 0.5, 0.5)).contains("it must be 100000 or fewer"));
        // Nearly each of 100,000 * 99,999 / 2 pairs; it stops behind the node with which there are too many.
        assert!(said(parameters(100_000, 1.0, 1e9)).contains("links; there may be 5000000"));
    }

    proptest! {
        #[test]
        fn every_waxman_graph_is_connected(nodes in 1usize..80, alpha in 0.01f64..1.0, beta in 0.01f64..1.0, seed: u64) {
            let network = waxman(&parameters(nodes, alpha, beta), seed).unwrap();
            prop_assert!(is_connected(&network));
            prop_assert_eq!(size(&network).0, nodes);
        }
    }
}
