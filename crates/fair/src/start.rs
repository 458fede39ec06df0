//! The portions from which the iterative solvers start.
//!
//! Upward max-min fair allocations are not unique, and the start of the iteration determines its end. Equal portions
//! are those of the papers. Geometric portions favour the first (shortest) path, and mostly carry more in total; 0.3 is
//! a good ratio.

use thiserror::Error;

use crate::problem::Problem;

/// The initial division of each connection's rate among its paths.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// Equal portions, 1/n each [ludena2021, alg. 1].
    Equal,
    /// Portions in proportion to `ratio^rank`; rank is 0 for the connection's first path, and ratio is in (0, 1].
    Geometric(f64),
    /// Portions in proportion to these positive numbers, one for each path in the order of the problem.
    Given(Vec<f64>),
}

/// Invalid starting portions.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum StartError {
    #[error("the ratio of the starting portions is {0}; it must be over 0 and at most 1")]
    Ratio(f64),
    #[error("{found} starting portions for {paths} paths; give one for each")]
    Count { found: usize, paths: usize },
    #[error(
        "path {path}: its starting portion is {value}; it must be positive and finite (a path that starts at 0 would \
         stay there; leave it out of the problem instead)"
    )]
    Value { path: usize, value: f64 },
}

/// The least portion that a geometric start gives, so that later paths in a long list do not vanish from the beginning.
const LEAST: f64 = 1e-12;

/// Starting portions in the grouped order of the problem; they sum to 1 for each connection that has paths.
pub(crate) fn portions(problem: &Problem, start: &Start) -> Result<Vec<f64>, StartError> {
    check(problem, start)?;
    let mut portions = Vec::with_capacity(problem.paths());
    for c in 0..problem.connections() {
        let paths = problem.paths_of(c);
        let begin = portions.len();
        portions.extend(paths.iter().enumerate().map(|(rank, &path)| match start {
            Start::Equal => 1.0,
            Start::Geometric(ratio) => ratio.powf(rank as f64).max(LEAST),
            Start::Given(given) => given[path as usize],
        }));
        let own = &mut portions[begin..];
        // Scaled first, so that a sum of huge numbers does not overflow.
        let top = own.iter().copied().fold(0.0, f64::max);
        for portion in own.iter_mut() {
            *portion /= top;
        }
        let sum: f64 = own.iter().sum();
        for portion in own {
            *portion /= sum;
        }
    }
    Ok(portions)
}

fn check(problem: &Problem, start: &Start) -> Result<(), StartError> {
    match start {
        Start::Equal => Ok(()),
        Start::Geometric(ratio) if *ratio > 0.0 && *ratio <= 1.0 => Ok(()),
        Start::Geometric(ratio) => Err(StartError::Ratio(*ratio)),
        Start::Given(given) if given.len() != problem.paths() => {
            Err(StartError::Count { found: given.len(), paths: problem.paths() })
        }
        Start::Given(given) => match given.iter().position(|v| !(v.is_finite() && *v > 0.0)) {
            Some(path) => Err(StartError::Value { path, value: given[path] }),
            None => Ok(()),
        },
    }
}
