//! Which paths of which connection use which link: one bit each, in one record for a (connection, link) pair.
//!
//! Paths of a connection share most of their links, so there are four to six times fewer pairs than (path, link)
//! entries, and a bit test replaces a walk along a path. Links of infinite capacity are left out: they never bind.
//! Where paths of one connection use a link with different coefficients, each coefficient has a pair of its own.

use crate::problem::Problem;

/// (connection, link) pairs, grouped by connection and listed by link.
pub(crate) struct Incidence {
    /// Pairs of connection c: `pair_offsets[c]..pair_offsets[c + 1]`.
    pub pair_offsets: Vec<u32>,
    /// Of each pair.
    pub link: Vec<u32>,
    /// Of each pair.
    pub connection: Vec<u32>,
    /// Of each pair; empty if all are 1.
    pub coefficient: Vec<f64>,
    /// Words of 64 paths that connection c needs begin at `word_offsets[c]`.
    pub word_offsets: Vec<u32>,
    /// Masks of connection c begin at `mask_offsets[c]`: for each of its pairs as many words as it has.
    mask_offsets: Vec<u32>,
    masks: Vec<u64>,
    /// Pairs on link l: `link_pairs[link_offsets[l]..link_offsets[l + 1]]`, by connection.
    link_offsets: Vec<u32>,
    link_pairs: Vec<u32>,
}

impl Incidence {
    pub fn new(problem: &Problem) -> Self {
        let mut pairs = Self {
            pair_offsets: vec![0],
            link: Vec::new(),
            connection: Vec::new(),
            coefficient: Vec::new(),
            word_offsets: vec![0],
            mask_offsets: vec![0],
            masks: Vec::new(),
            link_offsets: Vec::new(),
            link_pairs: Vec::new(),
        };
        // The pair of the connection at hand on each link; several where coefficients differ, the latest first.
        let mut latest = vec![u32::MAX; problem.links()];
        for c in 0..problem.connections() {
            pairs.add_connection(problem, c, &mut latest);
        }
        pairs.list_by_link(problem.links());
        pairs
    }

    fn add_connection(&mut self, problem: &Problem, c: usize, latest: &mut [u32]) {
        let paths = problem.paths_of(c);
        let words = paths.len().div_ceil(64);
        let (first, base) = (self.link.len(), self.masks.len());
        for (bit, &path) in paths.iter().enumerate() {
            for (link, coefficient) in problem.uses_of(path as usize) {
                if problem.capacity(link).is_infinite() {
                    continue;
                }
                let mut pair = latest[link] as usize;
                let known = pair != u32::MAX as usize && pair >= first;
                if !known || (problem.has_coefficients() && self.coefficient[pair] != coefficient) {
                    pair = self.find_or_add(first, link, coefficient, problem.has_coefficients(), words, c);
                    latest[link] = pair as u32;
                }
                self.masks[base + (pair - first) * words + bit / 64] |= 1 << (bit % 64);
            }
        }
        self.pair_offsets.push(self.link.len() as u32);
        self.word_offsets.push(self.word_offsets[c] + words as u32);
        self.mask_offsets.push(self.masks.len() as u32);
    }

    /// The pair of this link and coefficient among those from `first` on, made if it is not there.
    fn find_or_add(
        &mut self,
        first: usize,
        link: usize,
        coefficient: f64,
        has_coefficients: bool,
        words: usize,
        c: usize,
    ) -> usize {
        if has_coefficients {
            let same = |&p: &usize| self.link[p] as usize == link && self.coefficient[p] == coefficient;
            if let Some(pair) = (first..self.link.len()).find(same) {
                return pair;
            }
            self.coefficient.push(coefficient);
        }
        self.link.push(link as u32);
        self.connection.push(c as u32);
        self.masks.resize(self.masks.len() + words, 0);
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
        self.link_pairs = vec![0; self.link.len()];
        for (pair, &l) in self.link.iter().enumerate() {
            self.link_pairs[next[l as usize] as usize] = pair as u32;
            next[l as usize] += 1;
        }
    }

    /// The pairs of a connection.
    pub fn pairs_of(&self, c: usize) -> std::ops::Range<usize> {
        self.pair_offsets[c] as usize..self.pair_offsets[c + 1] as usize
    }

    /// The words of a connection in arrays that hold one bit for each path.
    pub fn words_of(&self, c: usize) -> std::ops::Range<usize> {
        self.word_offsets[c] as usize..self.word_offsets[c + 1] as usize
    }

    /// The pairs on a link, by connection.
    pub fn pairs_on(&self, link: usize) -> std::ops::Range<usize> {
        self.link_offsets[link] as usize..self.link_offsets[link + 1] as usize
    }

    /// The pair at place `at` of the list by link.
    pub fn listed(&self, at: usize) -> usize {
        self.link_pairs[at] as usize
    }

    /// The paths of connection `c` that pair number `pair` holds, as `words` words.
    pub fn mask(&self, c: usize, pair: usize, words: usize) -> &[u64] {
        let begin = self.mask_offsets[c] as usize + (pair - self.pair_offsets[c] as usize) * words;
        &self.masks[begin..begin + words]
    }

    /// Capacity that a unit of rate uses at `pair`.
    pub fn coefficient_of(&self, pair: usize) -> f64 {
        if self.coefficient.is_empty() { 1.0 } else { self.coefficient[pair] }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.link.len()
    }

    /// Number of words that hold one bit for each path.
    pub fn words(&self) -> usize {
        *self.word_offsets.last().expect("offsets begin with 0") as usize
    }
}
