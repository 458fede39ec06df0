//! The load of larger connections on each link, and the shortfall of a smaller connection that follows from it.
//!
//! ```text
//! larger[k]      total load on the link of the k connections with the greatest levels
//! level[k]       the k-th greatest level on the link
//! rate(level)    of the smaller connection
//! outdone        least over k of  max(larger[k] / own,  (rate(level[k + 1]) - its rate) / its measure at the former)
//! ```
//!
//! Both sides of the maximum agree on one number x: connections whose level is greater by more than x have a total load
//! of at most `x * own`, where `own` is the smaller connection's possible use of the link at its rate.

use crate::problem::Problem;

/// One of the connections on a link with a greater level, and the load of all connections down to this one.
#[derive(Clone, Copy)]
struct Larger {
    level: f64,
    /// The load of this connection and of all that are listed before it.
    carried: f64,
}

/// For each requested link, its connections in order of falling level.
pub(super) struct LargerOnLinks<'a>(&'a Problem, Vec<Vec<Larger>>);

impl<'a> LargerOnLinks<'a> {
    /// Lists the load of all connections on the links that `is_wanted` selects; other links have empty lists.
    pub fn new(problem: &'a Problem, path_rates: &[f64], levels: &[f64], is_wanted: &[bool]) -> Self {
        let mut on_links = vec![vec![]; problem.links()];
        // The latest connection on each link, so that the loads of its paths there are added up.
        let mut latest = vec![usize::MAX; problem.links()];
        for (c, &level) in levels.iter().enumerate().take(if is_wanted.contains(&true) { levels.len() } else { 0 }) {
            for &path in problem.paths_of(c).iter().filter(|&&path| path_rates[path as usize] > 0.0) {
                for (link, coefficient) in problem.uses_of(path as usize).filter(|&(link, _)| is_wanted[link]) {
                    let on_link: &mut Vec<Larger> = &mut on_links[link];
                    if std::mem::replace(&mut latest[link], c) != c {
                        on_link.push(Larger { level, carried: 0.0 });
                    }
                    if let Some(own) = on_link.last_mut() {
                        own.carried += coefficient * path_rates[path as usize];
                    }
                }
            }
        }
        for on_link in &mut on_links {
            on_link.sort_unstable_by(|a, b| b.level.total_cmp(&a.level));
            on_link.iter_mut().fold(0.0, |sum, larger| {
                larger.carried += sum;
                larger.carried
            });
        }
        Self(problem, on_links)
    }

    /// The shortfall of a connection with this rate on a link; `own` is its possible use of the link at its rate.
    pub fn outdone(&self, link: usize, (c, rate): (usize, f64), own: f64) -> f64 {
        let Self(problem, on_links) = self;
        let on_link = &on_links[link];
        let level = problem.level(c, rate);
        let carried = |k: usize| if k == 0 { 0.0 } else { on_link[k - 1].carried };
        let part = |k: usize| if carried(k) > 0.0 { carried(k) / own } else { 0.0 };
        let excess = |k: usize| {
            let missing = |next: &Larger| {
                let there = problem.rate_at(c, next.level);
                (there - rate) / there.max(problem.reserved(c))
            };
            on_link.get(k).map_or(0.0, |next| if next.level > level { missing(next) } else { 0.0 })
        };
        // As k rises, the part rises and the excess falls: the best value is where they cross, or just before.
        let (mut low, mut high) = (0, on_link.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if part(middle) >= excess(middle) { high = middle } else { low = middle + 1 }
        }
        let before = if low == 0 { f64::INFINITY } else { excess(low - 1) };
        part(low).min(before)
    }
}
