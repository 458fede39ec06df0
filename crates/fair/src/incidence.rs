//! Which paths of which connection use which link: one bit each, in one record for a (connection, link) pair.
//!
//! Paths of a connection share most of their links, so there are four to six times fewer pairs than (path, link)
//! entries, and a bit test replaces a walk along a path. A connection's paths are taken in groups of 64, one word of
//! bits; nearly every connection has one group. Links of infinite capacity are left out: they never bind. Where
//! paths of one group use a link with different coefficients, each coefficient has a pair of its own.

use std::ops::Range;

use crate::problem::Problem;

/// Paths in a group.
const GROUP: usize = 64;

/// Pairs of a group of paths and a link, ordered by group and listed by link.
pub(crate) struct Incidence {
    /// Groups of connection c: `group_offsets[c]..group_offsets[c + 1]`.
    group_offsets: Vec<u32>,
    /// Of each group.
    pub connection: Vec<u32>,
    /// Where the paths of each group begin in the grouped order of the problem, and the end of the last.
    path_offsets: Vec<u32>,
    /// Pairs of group g: `pair_offsets[g]..pair_offsets[g + 1]`.
    pair_offsets: Vec<u32>,
    /// Of each pair.
    pub link: Vec<u32>,
    /// Of each pair: the paths of its group that use its link.
    pub mask: Vec<u64>,
    /// Of each pair; empty if all are 1.
    coefficient: Vec<f64>,
    /// Pairs on link l: `listed[link_offsets[l]..link_offsets[l + 1]]`, by group.
    link_offsets: Vec<u32>,
    listed: Vec<Listed>,
}

/// A pair as the list of a link holds it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Listed {
    pub pair: u32,
    pub group: u32,
}

impl Incidence {
    pub fn new(problem: &Problem) -> Self {
        let mut incidence = Self {
            group_offsets: vec![0],
            connection: Vec::new(),
            path_offsets: vec![0],
            pair_offsets: vec![0],
            link: Vec::new(),
            mask: Vec::new(),
            coefficient: Vec::new(),
            link_offsets: Vec::new(),
            listed: Vec::new(),
        };
        // The latest pair on each link: of the group at hand if it is not before the group's first.
        let mut latest = vec![u32::MAX; problem.links()];
        for c in 0..problem.connections() {
            for paths in problem.paths_of(c).chunks(GROUP) {
                incidence.add_group(problem, paths, &mut latest);
                incidence.connection.push(c as u32);
            }
            incidence.group_offsets.push(incidence.connection.len() as u32);
        }
        incidence.list_by_link(problem.links());
        incidence
    }

    fn add_group(&mut self, problem: &Problem, paths: &[u32], latest: &mut [u32]) {
        let first = self.link.len();
        let has_coefficients = problem.has_coefficients();
        for (bit, &path) in paths.iter().enumerate() {
            for (link, coefficient) in problem.uses_of(path as usize) {
                if problem.capacity(link).is_infinite() {
                    continue;
                }
                let mut pair = latest[link] as usize;
                let is_known = pair != u32::MAX as usize && pair >= first;
                if !is_known || (has_coefficients && self.coefficient[pair].to_bits() != coefficient.to_bits()) {
                    pair = self.find_or_add(first, link, coefficient, has_coefficients);
                    latest[link] = pair as u32;
                }
                self.mask[pair] |= 1 << bit;
            }
        }
        self.pair_offsets.push(self.link.len() as u32);
        self.path_offsets.push(self.path_offsets.last().expect("offsets begin with 0") + paths.len() as u32);
    }

    /// The pair of this link and coefficient among those from `first` on, made if it is not there.
    fn find_or_add(&mut self, first: usize, link: usize, coefficient: f64, has_coefficients: bool) -> usize {
        if has_coefficients {
            let is_same =
                |&p: &usize| self.link[p] as usize == link && self.coefficient[p].to_bits() == coefficient.to_bits();
            if let Some(pair) = (first..self.link.len()).find(is_same) {
                return pair;
            }
            self.coefficient.push(coefficient);
        }
        self.link.push(link as u32);
        self.mask.push(0);
        self.link.len() - 1
    }

    fn list_by_link(&mut self, links: usize) {
        self.link_offsets = vec![0; links + 1];
        for &l in &self.link {
            self.link_offsets[l as usize + 1] += 1;
        }
        for l in 0..links {
            self.link_offsets[l + 1] += self.link_offsets[l];
        }
        let mut next = self.link_offsets.clone();
        self.listed = vec![Listed::default(); self.link.len()];
        for group in 0..self.connection.len() {
            for pair in self.pairs_of(group) {
                let slot = &mut next[self.link[pair] as usize];
                self.listed[*slot as usize] = Listed { pair: pair as u32, group: group as u32 };
                *slot += 1;
            }
        }
    }

    /// The groups of a connection.
    pub fn groups_of(&self, connection: usize) -> Range<usize> {
        self.group_offsets[connection] as usize..self.group_offsets[connection + 1] as usize
    }

    /// The paths of a group, in the grouped order of the problem; path i of it is bit i.
    pub fn paths_of(&self, group: usize) -> Range<usize> {
        self.path_offsets[group] as usize..self.path_offsets[group + 1] as usize
    }

    /// The pairs of a group.
    pub fn pairs_of(&self, group: usize) -> Range<usize> {
        self.pair_offsets[group] as usize..self.pair_offsets[group + 1] as usize
    }

    /// The places of the pairs on a link in the list.
    pub fn places_on(&self, link: usize) -> Range<usize> {
        self.link_offsets[link] as usize..self.link_offsets[link + 1] as usize
    }

    /// The pair at a place of the list.
    pub fn at(&self, place: usize) -> Listed {
        self.listed[place]
    }

    /// Capacity that a unit of rate uses at `pair`.
    pub fn coefficient_of(&self, pair: usize) -> f64 {
        if self.coefficient.is_empty() { 1.0 } else { self.coefficient[pair] }
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.connection.len()
    }

    /// Number of pairs.
    pub fn pairs(&self) -> usize {
        self.link.len()
    }
}

/// The places of the set bits, lowest first.
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}
