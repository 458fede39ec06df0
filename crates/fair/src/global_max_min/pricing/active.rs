//! The active paths, which are looked at first: paths that have entered once, of connections that have more than one of
//! them.
//!
//! Most connections use one path all the time, and most of the others use two or three. A sweep over the active paths
//! alone nearly always finds the next candidate to enter, and takes a small part of the time of a full sweep.

use super::super::columns::Columns;

/// The block of a connection that never had active paths.
const NO_BLOCK: u32 = u32::MAX;

/// When one in this many active paths can rest, all that can rest are removed.
const MANY: usize = 16;

/// The active paths; those of a connection lie together, so that a sweep reads memory in order.
pub(super) struct Active {
    /// The places of the active paths on each row, and the use of the row by a unit of rate (empty if 1 everywhere).
    on_row: Vec<Vec<u32>>,
    amounts: Vec<Vec<f64>>,
    places: Vec<Place>,
    /// The beginning of each connection's block of active paths, and their number.
    blocks: Vec<(u32, u32)>,
    state: Vec<State>,
    /// The number of active paths, and the number of them that can rest.
    total: usize,
    tired: usize,
}

/// A path, its connection, and its price in the sweep. They lie together, since a sweep reaches them in random order.
#[derive(Clone, Copy)]
struct Place {
    sum: f64,
    path: u32,
    owner: u32,
}

/// The reason for which a path is looked at.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Resting,
    Active,
    /// The path is active, but cannot become a candidate.
    Tired,
}

impl Active {
    pub fn new(columns: &Columns) -> Self {
        Self {
            on_row: vec![vec![]; columns.rows()],
            amounts: vec![vec![]; if columns.has_amounts() { columns.rows() } else { 0 }],
            places: vec![],
            blocks: vec![(NO_BLOCK, 0); columns.connections()],
            state: vec![State::Resting; columns.paths()],
            total: 0,
            tired: 0,
        }
    }

    /// Adds a path; for the first path of a connection it also adds the main path.
    pub fn add(&mut self, columns: &Columns, path: u32, main: &[u32]) {
        let c = columns.owner[path as usize];
        let (start, count) = &mut self.blocks[c as usize];
        if *start == NO_BLOCK {
            let (end, most) = (self.places.len(), columns.paths_of(c as usize).len());
            *start = end as u32;
            self.places.resize(end + most, Place { sum: 0.0, path: u32::MAX, owner: c });
        }
        if *count == 0 {
            self.put(columns, main[c as usize], c);
        }
        self.put(columns, path, c);
    }

    fn put(&mut self, columns: &Columns, path: u32, c: u32) {
        if self.state[path as usize] != State::Resting {
            return;
        }
        self.state[path as usize] = State::Active;
        self.total += 1;
        let (start, count) = &mut self.blocks[c as usize];
        let place = *start + *count;
        *count += 1;
        self.places[place as usize].path = path;
        for (row, a) in columns.uses_of(path as usize) {
            self.on_row[row as usize].push(place);
            if let Some(amounts) = self.amounts.get_mut(row as usize) {
                amounts.push(a);
            }
        }
    }

    /// Marks an active path as one that can rest.
    pub fn tire(&mut self, path: usize) {
        if self.state[path] == State::Active {
            self.state[path] = State::Tired;
            self.tired += 1;
        }
    }

    /// Removes the paths that can rest, if they are many, except those in use; also removes a path that is alone of its
    /// connection.
    pub fn rest(&mut self, columns: &Columns, is_used: impl Fn(u32) -> bool) {
        if self.tired <= self.total / MANY {
            return;
        }
        self.on_row.iter_mut().for_each(Vec::clear);
        self.amounts.iter_mut().for_each(Vec::clear);
        (self.total, self.tired) = (0, 0);
        for c in 0..self.blocks.len() {
            let (start, count) = self.blocks[c];
            if count == 0 {
                continue;
            }
            let own: Vec<u32> =
                self.places[start as usize..][..count as usize].iter().map(|place| place.path).collect();
            let is_kept = |path: &u32| self.state[*path as usize] == State::Active || is_used(*path);
            let kept: Vec<u32> = own.iter().copied().filter(is_kept).collect();
            for path in own {
                self.state[path as usize] = State::Resting;
            }
            self.blocks[c].1 = 0;
            if kept.len() > 1 {
                for path in kept {
                    self.put(columns, path, c as u32);
                }
            }
        }
    }

    /// Adds `price` times the use of a row by a unit of rate to the sum of each path on it; calls `touch` with their
    /// connections.
    pub fn add_price(&mut self, row: usize, price: f64, mut touch: impl FnMut(u32)) {
        let amounts = self.amounts.get(row).map_or(&[][..], |amounts| amounts);
        for (i, &place) in self.on_row[row].iter().enumerate() {
            let place = &mut self.places[place as usize];
            place.sum += price * amounts.get(i).copied().unwrap_or(1.0);
            touch(place.owner);
        }
    }

    /// Calls `each` with every active path of a connection and its price difference from the main path; resets the
    /// prices.
    pub fn take_differences(&mut self, c: u32, main: u32, mut each: impl FnMut(u32, f64)) {
        let (start, count) = self.blocks[c as usize];
        let own = &mut self.places[start as usize..(start + count) as usize];
        let offer = own.iter().find(|place| place.path == main).map_or(0.0, |place| place.sum);
        for place in own {
            each(place.path, std::mem::take(&mut place.sum) - offer);
        }
    }
}
