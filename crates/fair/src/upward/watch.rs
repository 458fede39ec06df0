//! The links that a pass watches, and the check that no other link mattered.
//!
//! Where connections have demands, most links never saturate. Loads only grow in a pass, so a link that is not full at
//! the end was not full before, and no event of the pass depends on it. So the filling follows only watched links,
//! which have less than half of the pairs on large networks. One sweep over the pairs of the other links then finds
//! their loads; if one of them is overloaded, it becomes watched too, and the pass starts anew. The rates are those of
//! a filling that follows all links.

use super::CSlen;

/// A link is worth watching if at most this part of its capacity is free.
const NEAR: f64 = 0.1;

/// The part of a capacity by which rounding may overload a link.
const ROUNDING: f64 = 1e-12;

impl CSlen {
    /// Fills the links by the present portions, and sets `rates` and `free`.
    pub(super) fn fill(&mut self) {
        self.fill_watched();
        self.take_free();
        while self.has_overload() {
            self.watch(|is_near, is_watched| is_near || is_watched);
            self.fill_watched();
            self.take_free();
        }
        // The first pass watches all links. Later ones only add some, so that passes seldom start anew.
        if self.outcome.passes == 0 {
            self.watch(|is_near, _| is_near);
        }
    }

    fn has_overload(&self) -> bool {
        self.free.iter().enumerate().any(|(link, &free)| free < -ROUNDING * self.problem.capacity(link))
    }

    /// Watches the links that `is_chosen` selects, given whether they are nearly full and whether they are watched.
    fn watch(&mut self, is_chosen: impl Fn(bool, bool) -> bool) {
        for (link, is_watched) in self.is_watched.iter_mut().enumerate() {
            let is_near = self.free[link] <= NEAR * self.problem.capacity(link);
            *is_watched = is_chosen(is_near, *is_watched);
        }
        self.incidence.watch(&self.is_watched);
    }

    /// Records the free capacity of each link; for a link that is not watched it sums up the rates on it.
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
