//! Which links a pass watches, and how it makes sure that they were all that matter.
//!
//! Where connections have demands, most links never saturate. Loads only grow in a pass, so a link that is not full at
//! its end was not full before, and no event of the pass depends on it. So the filling follows watched links only, which
//! have less than half of the pairs on large networks. One sweep over the pairs of the others then finds their loads;
//! should one be overloaded, it is watched too, and the pass begins anew. The rates are those of a filling that follows
//! all links.

use super::CSlen;

/// A link is worth watching if it has no more than this part of its capacity left.
const NEAR: f64 = 0.1;

/// Part of a capacity by which rounding may overload a link.
const ROUNDING: f64 = 1e-12;

impl CSlen {
    /// Fills the links from the present portions: `rates` and `free` are the outcome.
    pub(super) fn fill(&mut self) {
        self.fill_watched();
        self.take_free();
        while self.has_overload() {
            self.watch(|is_near, is_watched| is_near || is_watched);
            self.fill_watched();
            self.take_free();
        }
        // The first pass watches all links. Later ones only ever add some, so that passes are seldom begun anew.
        if self.outcome.passes == 0 {
            self.watch(|is_near, _| is_near);
        }
    }

    fn has_overload(&self) -> bool {
        self.free.iter().enumerate().any(|(link, &free)| free < -ROUNDING * self.problem.capacity(link))
    }

    /// Watches the links of which `is_chosen` holds, given whether they are nearly full and whether they are watched.
    fn watch(&mut self, is_chosen: impl Fn(bool, bool) -> bool) {
        for (link, is_watched) in self.is_watched.iter_mut().enumerate() {
            let is_near = self.free[link] <= NEAR * self.problem.capacity(link);
            *is_watched = is_chosen(is_near, *is_watched);
        }
        self.incidence.watch(&self.is_watched);
    }

    /// Takes down what is left of each link: of those that are not watched by summing the rates on them.
    fn take_free(&mut self) {
        for (link, free) in self.free.iter_mut().enumerate() {
            *free = if self.is_watched[link] { self.state.left_of(link) } else { self.problem.capacity(link) };
        }
        for group in 0..self.incidence.groups() {
            self.sums.set(&self.outcome.rates[self.incidence.paths_of(group)]);
            self.incidence.for_each_unwatched(group, |pair, coefficient| {
                self.free[pair.link as usize] -= coefficient * self.sums.over(pair.mask);
            });
        }
    }
}
