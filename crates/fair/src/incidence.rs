//! The links that the paths of each connection use: one bit for each path, in one record for a (connection, link) pair.
//!
//! The paths of a connection share most of their links. So there are four to six times fewer pairs than (path, link)
//! entries, and a bit test replaces a walk along a path. The paths of a connection form groups of 32, one word of bits;
//! nearly every connection has one group. Links of infinite capacity are left out, since they never bind. Where the
//! paths of one group use a link with different coefficients, each coefficient has its own pair.
//!
//! Some links are watched: a group's pairs on them come first, and these links list their pairs.

use std::ops::Range;

use crate::problem::Problem;

/// Paths in a group.
const GROUP: usize = 32;

/// Pairs of a group of paths and a link, ordered by group; pairs on watched links are listed by link too.
pub(crate) struct Incidence {
    /// Groups of connection c: `group_offsets[c]..group_offsets[c + 1]`.
    group_offsets: Vec<u32>,
    /// All groups, and at the end one whose fields mark the end of the last group.
    groups: Vec<Group>,
    watched: Pairs,
    unwatched: Pairs,
    /// Pairs on watched link l: `listed[link_offsets[l]..link_offsets[l + 1]]`, by group.
    link_offsets: Vec<u32>,
    listed: Vec<Listed>,
}

/// A group of paths of one connection; its paths and pairs extend to the beginning of the next group's.
#[derive(Clone, Copy, Default)]
struct Group {
    connection: u32,
    /// Index of the first path in the grouped order of the problem.
    first_path: u32,
    first_watched: u32,
    first_unwatched: u32,
}

/// Pairs ordered by group. They lie close together, since fetching them is most of the work of a pass.
#[derive(Default)]
struct Pairs {
    pairs: Vec<Pair>,
    /// The coefficient of each pair; empty if all are 1.
    coefficient: Vec<f64>,
}

/// A link, and the paths of a group that use it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pair {
    pub link: u32,
    pub mask: u32,
}

/// A pair as it appears in the list of a link.
#[derive(Clone, Copy, Default)]
pub(crate) struct Listed {
    pub mask: u32,
    pub pair: u32,
    pub group: u32,
}

impl Pairs {
    fn with_capacity(pairs: usize) -> Self {
        Self { pairs: Vec::with_capacity(pairs), coefficient: Vec::new() }
    }

    fn push(&mut self, pair: Pair, coefficient: Option<f64>) {
        self.pairs.push(pair);
        self.coefficient.extend(coefficient);
    }

    /// The pair of this link and coefficient among those from `first` on; it is added if it does not exist.
    fn find_or_add(&mut self, first: usize, link: usize, coefficient: Option<f64>) -> usize {
        if let Some(wanted) = coefficient {
            let is_same =
                |&p: &usize| self.pairs[p].link as usize == link && self.coefficient[p].to_bits() == wanted.to_bits();
            if let Some(pair) = (first..self.pairs.len()).find(is_same) {
                return pair;
            }
        }
        self.push(Pair { link: link as u32, mask: 0 }, coefficient);
        self.pairs.len() - 1
    }

    fn for_each(&self, range: Range<usize>, mut f: impl FnMut(Pair, f64)) {
        let pairs = &self.pairs[range.clone()];
        if self.coefficient.is_empty() {
            for &pair in pairs {
                f(pair, 1.0);
            }
        } else {
            for (&pair, &coefficient) in pairs.iter().zip(&self.coefficient[range]) {
                f(pair, coefficient);
            }
        }
    }
}

impl Incidence {
    /// Builds the pairs of a problem; all links are watched at first.
    pub fn new(problem: &Problem) -> Self {
        let mut incidence = Self {
            group_offsets: vec![0],
            groups: vec![Group::default()],
            watched: Pairs::default(),
            unwatched: Pairs::default(),
            link_offsets: Vec::new(),
            listed: Vec::new(),
        };
        // The latest pair on each link; it belongs to the present group unless it comes before the group's first.
        let mut latest = vec![u32::MAX; problem.links()];
        for c in 0..problem.connections() {
            for paths in problem.paths_of(c).chunks(GROUP) {
                incidence.add_group(problem, c, paths, &mut latest);
            }
            incidence.group_offsets.push(incidence.groups() as u32);
        }
        incidence.list_by_link(problem.links());
        incidence
    }

    fn add_group(&mut self, problem: &Problem, connection: usize, paths: &[u32], latest: &mut [u32]) {
        let first = self.watched.pairs.len();
        let has_coefficients = problem.has_coefficients();
        for (bit, &path) in paths.iter().enumerate() {
            for (link, coefficient) in problem.uses_of(path as usize) {
                if problem.capacity(link).is_infinite() {
                    continue;
                }
                let mut pair = latest[link] as usize;
                let is_known = pair != u32::MAX as usize && pair >= first;
                if !is_known || (has_coefficients && self.watched.coefficient[pair].to_bits() != coefficient.to_bits())
                {
                    pair = self.watched.find_or_add(first, link, has_coefficients.then_some(coefficient));
                    latest[link] = pair as u32;
                }
                self.watched.pairs[pair].mask |= 1 << bit;
            }
        }
        let group = self.groups.last_mut().expect("the groups end with where the next begins");
        group.connection = connection as u32;
        let first_path = group.first_path + paths.len() as u32;
        self.groups.push(Group { first_path, first_watched: self.watched.pairs.len() as u32, ..Group::default() });
    }

    /// Watches exactly the links that `is_watched` selects; it has an entry for each link.
    pub fn watch(&mut self, is_watched: &[bool]) {
        let all = self.watched.pairs.len() + self.unwatched.pairs.len();
        let (mut watched, mut unwatched) = (Pairs::with_capacity(all), Pairs::with_capacity(all));
        let mut groups = self.groups.clone();
        for group in 0..self.groups() {
            for (from, range) in [(&self.watched, self.watched_of(group)), (&self.unwatched, self.unwatched_of(group))]
            {
                for place in range {
                    let pair = from.pairs[place];
                    let to = if is_watched[pair.link as usize] { &mut watched } else { &mut unwatched };
                    to.push(pair, from.coefficient.get(place).copied());
                }
            }
            groups[group + 1].first_watched = watched.pairs.len() as u32;
            groups[group + 1].first_unwatched = unwatched.pairs.len() as u32;
        }
        (self.groups, self.watched, self.unwatched) = (groups, watched, unwatched);
        self.list_by_link(is_watched.len());
    }

    fn list_by_link(&mut self, links: usize) {
        self.link_offsets = vec![0; links + 1];
        for group in 0..self.groups() {
            for pair in self.watched_of(group) {
                self.link_offsets[self.watched.pairs[pair].link as usize + 1] += 1;
            }
        }
        for l in 0..links {
            self.link_offsets[l + 1] += self.link_offsets[l];
        }
        let mut next = self.link_offsets.clone();
        self.listed = vec![Listed::default(); self.link_offsets[links] as usize];
        for group in 0..self.groups() {
            for pair in self.watched_of(group) {
                let slot = &mut next[self.watched.pairs[pair].link as usize];
                self.listed[*slot as usize] =
                    Listed { mask: self.watched.pairs[pair].mask, pair: pair as u32, group: group as u32 };
                *slot += 1;
            }
        }
    }

    /// The groups of a connection.
    pub fn groups_of(&self, connection: usize) -> Range<usize> {
        self.group_offsets[connection] as usize..self.group_offsets[connection + 1] as usize
    }

    /// The pairs of a group on watched links.
    pub fn watched(&self, group: usize) -> &[Pair] {
        &self.watched.pairs[self.watched_of(group)]
    }

    /// The pairs of a group on links that are not watched.
    pub fn unwatched(&self, group: usize) -> &[Pair] {
        &self.unwatched.pairs[self.unwatched_of(group)]
    }

    /// Calls `f` with each pair of a group on a watched link, and the use of its capacity by a unit of rate.
    pub fn for_each_watched(&self, group: usize, f: impl FnMut(Pair, f64)) {
        self.watched.for_each(self.watched_of(group), f);
    }

    /// Calls `f` with each pair of a group on a link that is not watched, and the use of its capacity by a unit of
    /// rate.
    pub fn for_each_unwatched(&self, group: usize, f: impl FnMut(Pair, f64)) {
        self.unwatched.for_each(self.unwatched_of(group), f);
    }

    /// The connection of a group.
    pub fn connection_of(&self, group: usize) -> usize {
        self.groups[group].connection as usize
    }

    /// The paths of a group, in the grouped order of the problem; path i of it is bit i.
    pub fn paths_of(&self, group: usize) -> Range<usize> {
        self.groups[group].first_path as usize..self.groups[group + 1].first_path as usize
    }

    fn watched_of(&self, group: usize) -> Range<usize> {
        self.groups[group].first_watched as usize..self.groups[group + 1].first_watched as usize
    }

    fn unwatched_of(&self, group: usize) -> Range<usize> {
        self.groups[group].first_unwatched as usize..self.groups[group + 1].first_unwatched as usize
    }

    /// The range of places in the list that hold the pairs on a watched link.
    pub fn places_on(&self, link: usize) -> Range<usize> {
        self.link_offsets[link] as usize..self.link_offsets[link + 1] as usize
    }

    /// The pair at a place of the list.
    pub fn at(&self, place: usize) -> Listed {
        self.listed[place]
    }

    /// The use of capacity by a unit of rate at a pair of the list.
    pub fn coefficient_of(&self, listed: Listed) -> f64 {
        self.watched.coefficient.get(listed.pair as usize).copied().unwrap_or(1.0)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups.len() - 1
    }
}

/// The places of the set bits, lowest first.
pub(crate) fn bits(mut word: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}
