//! What the tests of several solvers need.

use crate::problem::ProblemParts;

/// Each connection with the links of each of its paths; of weight 1, without a demand.
pub(crate) fn parts(capacity: &[f64], connections: &[&[&[u32]]]) -> ProblemParts {
    let mut parts = ProblemParts {
        capacity: capacity.to_vec(),
        path_offsets: vec![0],
        demand: vec![f64::INFINITY; connections.len()],
        weight: vec![1.0; connections.len()],
        ..Default::default()
    };
    for (c, paths) in connections.iter().enumerate() {
        for path in *paths {
            parts.path_links.extend_from_slice(path);
            parts.path_offsets.push(parts.path_links.len());
            parts.path_connection.push(c as u32);
        }
    }
    parts
}
