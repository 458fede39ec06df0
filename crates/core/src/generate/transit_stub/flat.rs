//! The flat random graphs of which GT-ITM builds its domains, and its six edge probabilities [zegura1996].
//!
//! Nodes lie on distinct integer points of a square of side `scale`. Let d be the distance of two nodes, L = sqrt(2)
//! scale and n the number of nodes. The two nodes are joined with this probability:
//!
//! | method | probability |
//! |---|---|
//! | 1 | alpha exp(-e / (beta L)), e uniform in 0 to L, which becomes the length of the edge |
//! | 2 | alpha exp(-d / (beta L)) |
//! | 3 | alpha |
//! | 4 | alpha exp(-d / (L - d)) |
//! | 5 | (gamma / n) alpha exp(-d / (beta L)) |
//! | 6 | alpha if d <= gamma L, otherwise beta |
//!
//! The formulas are those of the program; its manual swaps 4 and 5.

use std::collections::HashSet;

use rand::{Rng, RngExt};

use super::super::error::GenerateError;
use super::CHECKS;

/// The probability of an edge between two nodes of a domain; the head of the file has the formulas.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum EdgeMethod {
    /// Method 1: Waxman with a random length in place of the distance.
    Waxman1 { alpha: f64, beta: f64 },
    /// Method 2: Waxman with the distance.
    Waxman2 { alpha: f64, beta: f64 },
    /// Method 3: the same probability for every edge.
    PureRandom { alpha: f64 },
    /// Method 4: a probability that falls to 0 at the greatest distance.
    Exponential { alpha: f64 },
    /// Method 5: Doar and Leslie's change to Waxman, for a degree that does not grow with the number of nodes.
    DoarLeslie { alpha: f64, beta: f64, gamma: f64 },
    /// Method 6: probability `alpha` within the radius `gamma L`, and `beta` beyond.
    Locality { alpha: f64, beta: f64, gamma: f64 },
}

impl EdgeMethod {
    /// The method of this number in a parameter file of GT-ITM; parameters that it does not use are ignored.
    ///
    /// # Errors
    /// Returns an error for a number other than 1 to 6.
    pub fn numbered(method: u32, alpha: f64, beta: f64, gamma: f64) -> Result<Self, GenerateError> {
        match method {
            1 => Ok(Self::Waxman1 { alpha, beta }),
            2 => Ok(Self::Waxman2 { alpha, beta }),
            3 => Ok(Self::PureRandom { alpha }),
            4 => Ok(Self::Exponential { alpha }),
            5 => Ok(Self::DoarLeslie { alpha, beta, gamma }),
            6 => Ok(Self::Locality { alpha, beta, gamma }),
            _ => {
                let parameter = "edge method";
                let remedy = "it must be 1 to 6".to_owned();
                Err(GenerateError::Parameter { generator: CHECKS.0, parameter, value: method.to_string(), remedy })
            }
        }
    }

    pub(super) fn check(self, level: &'static str) -> Result<(), GenerateError> {
        let must = |good, remedy| CHECKS.require(good, level, format!("{self:?}"), remedy);
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let (Self::Waxman1 { alpha, .. }
        | Self::Waxman2 { alpha, .. }
        | Self::PureRandom { alpha }
        | Self::Exponential { alpha }
        | Self::DoarLeslie { alpha, .. }
        | Self::Locality { alpha, .. }) = self;
        must(alpha > 0.0 && alpha <= 1.0, "alpha must be over 0 and at most 1")?;
        match self {
            Self::PureRandom { .. } | Self::Exponential { .. } => Ok(()),
            Self::Waxman1 { beta, .. } | Self::Waxman2 { beta, .. } => {
                must(positive(beta), "beta must be positive and finite")
            }
            Self::DoarLeslie { beta, gamma, .. } => {
                must(positive(beta), "beta must be positive and finite")?;
                must(positive(gamma), "gamma must be positive and finite")
            }
            Self::Locality { beta, gamma, .. } => {
                must((0.0..=1.0).contains(&beta), "beta must be 0 to 1")?;
                must((0.0..=1.0).contains(&gamma), "gamma must be 0 to 1")
            }
        }
    }

    /// The length of an edge at `distance` in a square with diagonal `l`, or `None` if no edge is drawn.
    fn draw(self, distance: f64, l: f64, nodes: usize, rng: &mut impl Rng) -> Option<f64> {
        let length = if let Self::Waxman1 { .. } = self { rng.random::<f64>() * l } else { distance };
        let probability = match self {
            Self::Waxman1 { alpha, beta } | Self::Waxman2 { alpha, beta } => alpha * (-length / (beta * l)).exp(),
            Self::PureRandom { alpha } => alpha,
            Self::Exponential { alpha } => alpha * (-distance / (l - distance)).exp(),
            Self::DoarLeslie { alpha, beta, gamma } => gamma / nodes as f64 * alpha * (-distance / (beta * l)).exp(),
            Self::Locality { alpha, beta, gamma } => {
                if distance <= gamma * l {
                    alpha
                } else {
                    beta
                }
            }
        };
        (rng.random::<f64>() < probability).then_some(length)
    }
}

/// A point on the plane of the model.
pub(super) type Point = (i64, i64);

pub(super) fn distance(a: Point, b: Point) -> f64 {
    (((a.0 - b.0).pow(2) + (a.1 - b.1).pow(2)) as f64).sqrt()
}

/// A connected random graph on a square.
pub(super) struct FlatGraph {
    pub(super) points: Vec<Point>,
    /// Both ends of each edge, the lower first, and its length.
    pub(super) edges: Vec<(usize, usize, u32)>,
    /// The most hops on a shortest path between two nodes.
    pub(super) diameter: u32,
}

/// Draws a graph until it is connected, at most `tries` times.
///
/// The square must have more points than `nodes`, and for speed many more; the scales of the model ensure this.
pub(super) fn draw_connected(
    nodes: usize,
    scale: i64,
    method: EdgeMethod,
    tries: u32,
    rng: &mut impl Rng,
) -> Option<FlatGraph> {
    (0..tries).find_map(|_| {
        let points = draw_points(nodes, scale, rng);
        let edges = draw_edges(&points, scale, method, rng);
        let diameter = diameter(nodes, &edges)?;
        Some(FlatGraph { points, edges, diameter })
    })
}

fn draw_points(nodes: usize, scale: i64, rng: &mut impl Rng) -> Vec<Point> {
    let mut taken = HashSet::with_capacity(nodes);
    let mut points = Vec::with_capacity(nodes);
    while points.len() < nodes {
        let point = (rng.random_range(0..scale), rng.random_range(0..scale));
        if taken.insert(point) {
            points.push(point);
        }
    }
    points
}

fn draw_edges(points: &[Point], scale: i64, method: EdgeMethod, rng: &mut impl Rng) -> Vec<(usize, usize, u32)> {
    let l = std::f64::consts::SQRT_2 * scale as f64;
    let mut edges = Vec::new();
    for a in 0..points.len() {
        for b in a + 1..points.len() {
            if let Some(length) = method.draw(distance(points[a], points[b]), l, points.len(), rng) {
                edges.push((a, b, length.round() as u32));
            }
        }
    }
    edges
}

/// The most hops on a shortest path between two nodes; `None` if the graph is not connected.
fn diameter(nodes: usize, edges: &[(usize, usize, u32)]) -> Option<u32> {
    let mut neighbours = vec![Vec::new(); nodes];
    for &(a, b, _) in edges {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    (0..nodes).try_fold(0, |most, start| Some(most.max(eccentricity(&neighbours, start)?)))
}

/// The most hops on a shortest path from `start` to another node; `None` if a node cannot be reached.
fn eccentricity(neighbours: &[Vec<usize>], start: usize) -> Option<u32> {
    let mut seen = vec![false; neighbours.len()];
    seen[start] = true;
    let mut ring = vec![start];
    let (mut hops, mut reached) = (0, 1);
    while reached < neighbours.len() {
        let around = ring.iter().flat_map(|&n| &neighbours[n]);
        let next: Vec<usize> = around.copied().filter(|&n| !std::mem::replace(&mut seen[n], true)).collect();
        if next.is_empty() {
            return None;
        }
        (hops, reached) = (hops + 1, reached + next.len());
        ring = next;
    }
    Some(hops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn the_diameter_counts_hops() {
        let edge = |a, b| (a, b, 1);
        assert_eq!(diameter(1, &[]), Some(0));
        assert_eq!(diameter(4, &[edge(0, 1), edge(1, 2), edge(2, 3)]), Some(3));
        assert_eq!(diameter(4, &[edge(0, 1), edge(1, 2), edge(2, 3), edge(0, 3)]), Some(2));
        assert_eq!(diameter(4, &[edge(0, 1), edge(2, 3)]), None);
    }

    /// The frequency with which a method draws an edge at distance 10 in a square of side 20, and its mean length.
    fn frequency(method: EdgeMethod) -> (f64, f64) {
        const DRAWS: u32 = 40_000;
        let mut rng = stream(3, Purpose::Topology, 0);
        let l = 20.0 * std::f64::consts::SQRT_2;
        let lengths: Vec<f64> = (0..DRAWS).filter_map(|_| method.draw(10.0, l, 8, &mut rng)).collect();
        (lengths.len() as f64 / f64::from(DRAWS), lengths.iter().sum::<f64>() / lengths.len() as f64)
    }

    #[test]
    fn each_method_has_its_probability() {
        // L = 28.284. exp(-10 / (0.5 L)) = exp(-0.70711) = 0.49307; exp(-10 / (L - 10)) = exp(-0.54691) = 0.57874.
        // Method 1 averages exp(-e / (0.5 L)) over 0 to L: 0.5 (1 - exp(-2)) = 0.43233.
        let cases = [
            (1, [0.8, 0.5, 0.0], 0.8 * 0.43233),
            (2, [0.8, 0.5, 0.0], 0.8 * 0.49307),
            (3, [0.42, 0.0, 0.0], 0.42),
            (4, [0.8, 0.0, 0.0], 0.8 * 0.57874),
            (5, [0.8, 0.5, 4.0], 4.0 / 8.0 * 0.8 * 0.49307),
            (6, [0.8, 0.1, 0.4], 0.8),
            (6, [0.8, 0.1, 0.3], 0.1),
        ];
        for (number, [alpha, beta, gamma], expected) in cases {
            let (found, length) = frequency(EdgeMethod::numbered(number, alpha, beta, gamma).unwrap());
            // The standard deviation is at most sqrt(0.25 / 40,000) = 0.0025.
            assert!((found - expected).abs() < 4.0 * 0.0025, "method {number}: {found}, not {expected}");
            assert_eq!(number == 1, (length - 10.0).abs() > 1e-9, "method {number} has its length");
        }
        assert!(EdgeMethod::numbered(7, 0.5, 0.5, 0.5).unwrap_err().to_string().contains("1 to 6"));
    }

    #[test]
    fn points_are_distinct_even_on_a_full_square() {
        let points = draw_points(9, 3, &mut stream(1, Purpose::Topology, 0));
        assert_eq!(points.iter().collect::<HashSet<_>>().len(), 9);
    }

    #[test]
    fn a_graph_that_is_never_connected_is_given_up() {
        let mut rng = stream(1, Purpose::Topology, 0);
        let mut draw = |alpha| draw_connected(10, 20, EdgeMethod::PureRandom { alpha }, 100, &mut rng);
        assert!(draw(0.001).is_none());
        let complete = draw(1.0).unwrap();
        assert_eq!((complete.edges.len(), complete.diameter), (45, 1));
    }
}
