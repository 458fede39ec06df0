//! What larger connections carry on each link, and by how much they keep a smaller one back.
//!
//! ```text
//! larger[k]      what the k connections of the greatest levels carry on the link together
//! level[k]       the k-th greatest level on the link
//! outdone        least over k of  max(larger[k] / own,  1 - level / level[k + 1])
//! ```
//!
//! Both sides of the maximum agree on one number: connections whose level is greater by more than that part carry no
//! more than that part of `own` together, which is what the smaller connection could use of the link at its rate.

use crate::problem::Problem;

/// The connections with a greater level, down to one of them, and what they carry.
#[derive(Clone, Copy)]
struct Larger {
    level: f64,
    /// Of this and all that are listed before it.
    carried: f64,
}

/// Of each link that was asked for: its connections by falling level.
pub(super) struct LargerOnLinks {
    offsets: Vec<usize>,
    listed: Vec<Larger>,
}

impl LargerOnLinks {
    /// Lists what all connections carry on the links that `is_wanted` names; other links have empty lists.
    pub fn new(problem: &Problem, path_rates: &[f64], levels: &[f64], is_wanted: &[bool]) -> Self {
        // The latest connection on each link, so that its paths there count together.
        let mut latest = vec![usize::MAX; problem.links()];
        let mut offsets = vec![0usize; problem.links() + 1];
        for_each_use(problem, path_rates, is_wanted, |c, link, _| {
            if std::mem::replace(&mut latest[link], c) != c {
                offsets[link + 1] += 1;
            }
        });
        for link in 0..problem.links() {
            offsets[link + 1] += offsets[link];
        }
        let mut next = offsets.clone();
        let mut listed = vec![Larger { level: 0.0, carried: 0.0 }; offsets[problem.links()]];
        latest.fill(usize::MAX);
        for_each_use(problem, path_rates, is_wanted, |c, link, load| {
            if std::mem::replace(&mut latest[link], c) != c {
                listed[next[link]].level = levels[c];
                next[link] += 1;
            }
            listed[next[link] - 1].carried += load;
        });
        for link in 0..problem.links() {
            let own = &mut listed[offsets[link]..offsets[link + 1]];
            own.sort_unstable_by(|a, b| b.level.total_cmp(&a.level));
            own.iter_mut().fold(0.0, |sum, larger| {
                larger.carried += sum;
                larger.carried
            });
        }
        Self { offsets, listed }
    }

    /// By how much a connection of this level is outdone on a link of which it could use `own` at its rate.
    pub fn outdone(&self, link: usize, level: f64, own: f64) -> f64 {
        let on_link = self.on(link);
        let carried = |k: usize| if k == 0 { 0.0 } else { on_link[k - 1].carried };
        let part = |k: usize| if carried(k) > 0.0 { carried(k) / own } else { 0.0 };
        let excess = |k: usize| {
            on_link.get(k).map_or(0.0, |next| if next.level > level { 1.0 - level / next.level } else { 0.0 })
        };
        // As k rises, the part rises and the excess falls: the best is where they cross, or just before.
        let (mut low, mut high) = (0, on_link.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if part(middle) >= excess(middle) { high = middle } else { low = middle + 1 }
        }
        let before = if low == 0 { f64::INFINITY } else { excess(low - 1) };
        part(low).min(before)
    }

    fn on(&self, link: usize) -> &[Larger] {
        &self.listed[self.offsets[link]..self.offsets[link + 1]]
    }
}

/// Calls `f` with the connection, the link and the load of each use of a wanted link by a path that carries something.
fn for_each_use(problem: &Problem, path_rates: &[f64], is_wanted: &[bool], mut f: impl FnMut(usize, usize, f64)) {
    for c in 0..problem.connections() {
        for &path in problem.paths_of(c).iter().filter(|&&path| path_rates[path as usize] > 0.0) {
            for (link, coefficient) in problem.uses_of(path as usize).filter(|&(link, _)| is_wanted[link]) {
                f(c, link, coefficient * path_rates[path as usize]);
            }
        }
    }
}
