//! Max-min fair rates where every connection has one path: progressive filling [bertsekas1992, sec. 6.5.2].
//!
//! All levels rise together. The connections of the link that saturates first freeze, then those of the next link, and
//! so on. The crate `anabranch-filling` does this on arrays; this module puts connections in its order. Where parts are
//! reserved, the method for several paths serves one path, too.

use std::borrow::Cow;
use std::sync::Arc;

use thiserror::Error;

use crate::allocation::Allocation;
use crate::global_max_min::{Levelled, global_max_min};
use crate::problem::Problem;

/// An error for a connection that has more than one path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "connection {connection} has {paths} paths; progressive filling takes one for each connection (give one path, \
     or take another method)"
)]
pub struct MultipathError {
    connection: usize,
    paths: usize,
}

/// Computes weighted max-min fair rates within the demands.
///
/// # Errors
/// Returns an error for a connection with more than one path.
pub fn max_min(problem: &Problem) -> Result<Allocation, MultipathError> {
    let several = (0..problem.connections()).find(|&c| problem.paths_of(c).len() > 1);
    if let Some(connection) = several {
        return Err(MultipathError { connection, paths: problem.paths_of(connection).len() });
    }
    if problem.has_reserved() {
        let Levelled { path_rates, connection_rates, converged, .. } = global_max_min(&Arc::new(problem.clone()));
        return Ok(Allocation { path_rates, connection_rates, passes: 1, converged, residual: 0.0 });
    }
    let (demand, weight) = (in_order(problem.demands(), problem), in_order(problem.weights(), problem));
    let path_rates =
        anabranch_filling::max_min(&problem.single_path(&demand, &weight)).expect("the problem was checked");
    let connection_rates = problem.sum_by_connection(&path_rates);
    Ok(Allocation { path_rates, connection_rates, passes: 1, converged: true, residual: 0.0 })
}

/// The values of connections in the order of their paths; borrowed if the order is the same.
fn in_order<'a>(values: &'a [f64], problem: &Problem) -> Cow<'a, [f64]> {
    let paths = 0..problem.paths();
    let is_same = paths.len() == values.len() && paths.clone().all(|path| problem.connection(path) == path);
    if is_same { Cow::Borrowed(values) } else { paths.map(|path| values[problem.connection(path)]).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::certify;
    use crate::problem::ProblemParts;

    const NONE: f64 = f64::INFINITY;

    /// Links of 10 and 4. Path 0 is the second connection's, over both; path 1 the fourth's, over the first; path 2 the
    /// first's, over the second. The third connection has none.
    fn shuffled() -> ProblemParts {
        ProblemParts {
            capacity: vec![10.0, 4.0],
            path_offsets: vec![0, 2, 3, 4],
            path_links: vec![0, 1, 0, 1],
            path_connection: vec![1, 3, 0],
            demand: vec![1.0, NONE, NONE, NONE],
            weight: vec![5.0, 1.0, 1.0, 1.0],
            ..Default::default()
        }
    }

    #[test]
    fn demands_and_weights_go_with_their_paths() {
        // The first connection has its demand of 1, so the second gets 3 at the second link, and the fourth 7 at the
        // first.
        let problem = Problem::new(shuffled()).unwrap();
        let allocation = max_min(&problem).unwrap();
        assert_eq!(allocation.path_rates, [3.0, 7.0, 1.0]);
        assert_eq!(allocation.connection_rates, [1.0, 3.0, 0.0, 7.0]);
        assert!(certify(&problem, &allocation.path_rates, 1e-9).holds());
        // Without the demand 4 is shared by 5 to 1.
        let problem = Problem::new(ProblemParts { demand: vec![NONE; 4], ..shuffled() }).unwrap();
        let wanted = [4.0 / 6.0, 10.0 - 4.0 / 6.0, 20.0 / 6.0];
        let found = max_min(&problem).unwrap().path_rates;
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-12), "{found:?} instead of {wanted:?}");
    }

    #[test]
    fn several_paths_are_refused() {
        let parts = ProblemParts { path_connection: vec![1, 3, 1], ..shuffled() };
        let said = max_min(&Problem::new(parts).unwrap()).unwrap_err().to_string();
        assert!(said.starts_with("connection 1 has 2 paths"));
    }
}
