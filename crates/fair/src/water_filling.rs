//! Max-min fair rates of subflows, each treated as a separate connection, by progressive filling.
//!
//! Each subflow has the weight of its connection, whose demand is one more link that its subflows share. The rates are
//! exact for the subflows, and an approximation for the connections: a connection with many paths gets more.

use anabranch_filling::SinglePath;

use crate::problem::{Problem, trim};

/// Computes the rates of all paths; no link is overloaded.
pub fn water_filling(problem: &Problem) -> Vec<f64> {
    let (demand_links, capacity) = with_demands(problem);
    let mut offsets = Vec::with_capacity(problem.paths() + 1);
    let (mut links, mut coefficients) = (Vec::new(), Vec::new());
    offsets.push(0);
    for path in 0..problem.paths() {
        let demand = demand_links[problem.connection(path)].map(|link| (link, 1.0));
        for (link, coefficient) in problem.uses_of(path).chain(demand) {
            links.push(link as u32);
            if problem.has_coefficients() {
                coefficients.push(coefficient);
            }
        }
        offsets.push(links.len());
    }
    let weight: Vec<f64> = (0..problem.paths()).map(|path| problem.weight(problem.connection(path))).collect();
    let apart = SinglePath {
        capacity: &capacity,
        offsets: &offsets,
        links: &links,
        demand: &[],
        weight: &weight,
        coefficient: &coefficients,
    };
    let mut rates = anabranch_filling::max_min(&apart).expect("the problem was checked");
    trim(problem, &mut rates);
    rates
}

/// The link that stands for each connection's demand, if it has one, and the capacities of all links including these.
fn with_demands(problem: &Problem) -> (Vec<Option<usize>>, Vec<f64>) {
    let mut capacity: Vec<f64> = (0..problem.links()).map(|link| problem.capacity(link)).collect();
    let link = |&demand: &f64| {
        demand.is_finite().then(|| {
            capacity.push(demand);
            capacity.len() - 1
        })
    };
    (problem.demands().iter().map(link).collect(), capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemParts;
    use crate::testing::parts;

    #[test]
    fn subflows_share_links_as_connections_would_and_a_demand_as_one_more_link() {
        // Connection 0 has link A (4) and link B (6), connection 1 has B: 4, and 3 each. With a demand of 5 for the
        // first, its subflows have 2.5 each, and the second connection what is left of B.
        let free = parts(&[4.0, 6.0], &[&[&[0], &[1]], &[&[1]]]);
        let held = ProblemParts { demand: vec![5.0, f64::INFINITY], ..free.clone() };
        assert_eq!(water_filling(&Problem::new(free).unwrap()), [4.0, 3.0, 3.0]);
        assert_eq!(water_filling(&Problem::new(held).unwrap()), [2.5, 2.5, 3.5]);
    }
}
