//! The length of a step: prices rise until enough rate has moved.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Group, NOISE, Pricing, SLACK};

/// A path or slack that can enter the basis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::global_max_min) enum Candidate {
    Path(usize),
    Slack(usize),
}

/// The deficit of a variable below 0, and the part of it that may be rounding.
#[derive(Clone, Copy, Debug)]
pub(in crate::global_max_min) struct Lack {
    pub value: f64,
    pub rounding: f64,
}

/// A step: the candidate that enters, and the connections that first move as a whole to another main path, in order.
#[derive(Clone, Debug)]
pub(in crate::global_max_min) struct Step {
    pub candidate: Candidate,
    /// The entry of the candidate, against the main path that its connection has after the moves.
    pub entry: f64,
    /// The rise of the prices.
    pub length: f64,
    /// The connections that move, each with its new main path.
    pub moves: Vec<(u32, u32)>,
}

impl Step {
    /// The main path of a connection after the moves, if it has moved.
    pub fn main_of(&self, c: u32) -> Option<u32> {
        self.moves.iter().rev().find(|(moved, _)| *moved == c).map(|&(_, path)| path)
    }
}

/// A point at which a candidate could enter as prices rise.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: f64,
    candidate: Candidate,
    group: u32,
    entry: f64,
}

impl Turn {
    fn new(candidate: Candidate, group: usize, cost: f64, entry: f64) -> Self {
        Self { at: cost.max(0.0) / -entry, candidate, group: group as u32, entry }
    }
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Turn {}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turn {
    /// The soonest turn is the greatest, and among turns at the same point the one with the greatest entry.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.entry.total_cmp(&self.entry))
    }
}

impl Pricing {
    /// The step after a sweep that makes up for `lack` without the refused candidates; `None` if no step is long
    /// enough.
    ///
    /// As prices rise, a connection whose rate is on one path (`is_whole`) moves all of it to the path that becomes its
    /// cheapest. The candidate that enters is the first that makes up for the rest, or that cannot move as a whole. If
    /// all have moved and a deficit remains, the last of them enters if `is_enough` says that the deficit is rounding
    /// alone.
    pub fn choose(
        &self,
        prices: &[f64],
        tight: &[u32],
        refused: &[Candidate],
        lack: Lack,
        is_enough: bool,
        (rate, is_whole): (&[f64], impl Fn(usize) -> bool),
    ) -> Option<Step> {
        let mut turns = self.first_turns(prices, tight, refused);
        let mut moves: Vec<(u32, u32)> = vec![];
        let mut value = lack.value;
        let mut last: Option<Turn> = None;
        while let Some(turn) = turns.pop() {
            if let Candidate::Path(p) = turn.candidate {
                let group = self.groups[turn.group as usize];
                let c = group.connection as usize;
                let gain = -turn.entry * rate[c];
                if is_whole(c) && value + gain < -lack.rounding {
                    value += gain;
                    moves.push((group.connection, p as u32));
                    turns.extend(self.next_turn(turn.group as usize, Some(p), refused));
                    last = Some(turn);
                    continue;
                }
            }
            let best = soundest(turn, turns);
            return Some(Step { candidate: best.candidate, entry: best.entry, length: best.at, moves });
        }
        let last = last.filter(|_| is_enough)?;
        moves.pop();
        Some(Step { candidate: last.candidate, entry: last.entry, length: last.at, moves })
    }

    /// The first candidate of each connection, and the slacks that can enter.
    fn first_turns(&self, prices: &[f64], tight: &[u32], refused: &[Candidate]) -> BinaryHeap<Turn> {
        let most = tight.iter().fold(0.0f64, |most, &row| most.max(prices[row as usize].abs()));
        let slacks = tight.iter().map(|&row| row as usize).filter(|&row| prices[row] < -NOISE * most);
        let slacks = slacks.map(|row| Turn::new(Candidate::Slack(row), 0, self.slack_cost[row], prices[row]));
        let paths = (0..self.groups.len()).filter_map(|group| self.next_turn(group, None, refused));
        slacks.filter(|turn| !refused.contains(&turn.candidate)).chain(paths).collect()
    }

    /// The next path that becomes the cheapest of its connection as prices rise, after the main path or after `from`.
    fn next_turn(&self, group: usize, from: Option<usize>, refused: &[Candidate]) -> Option<Turn> {
        let Group { start, end, .. } = self.groups[group];
        let own = &self.entries[start as usize..end as usize];
        let entry_of = |path: usize| own.iter().find(|(p, _)| *p as usize == path).map_or(0.0, |&(_, entry)| entry);
        let (cost, entry) = from.map_or((0.0, 0.0), |path| (self.cost[path], entry_of(path)));
        own.iter()
            .filter(|&&(_, other)| other < entry)
            .map(|&(p, other)| {
                Turn::new(Candidate::Path(p as usize), group, self.cost[p as usize] - cost, other - entry)
            })
            .filter(|turn| !refused.contains(&turn.candidate))
            .max()
    }
}

/// The turn with the greatest entry among those that come nearly as soon as the first.
fn soundest(first: Turn, mut turns: BinaryHeap<Turn>) -> Turn {
    let limit = first.at + SLACK / -first.entry;
    let mut best = first;
    while let Some(turn) = turns.pop().filter(|turn| turn.at <= limit) {
        if turn.entry < best.entry {
            best = turn;
        }
    }
    best
}
