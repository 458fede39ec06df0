//! The paths that are looked at first: those that came in once, of connections that have more than one of them.
//!
//! Most connections use one path all the time, and of the others most use two or three. A sweep over these alone finds
//! what comes in next nearly always, and takes a small part of the time.

use super::super::columns::Columns;

/// Of a connection that never had active paths.
const NO_BLOCK: u32 = u32::MAX;

/// The active paths; those of a connection lie together, so that a sweep goes through memory in order.
pub(super) struct Active {
    /// The places of the active paths on each row, and what a unit of rate uses there (empty if 1 everywhere).
    on_row: Vec<Vec<u32>>,
    amounts: Vec<Vec<f64>>,
    /// Of each place: its path, its connection, and what it costs at the prices of the sweep.
    path: Vec<u32>,
    owner: Vec<u32>,
    sums: Vec<f64>,
    /// Of each connection: where the places of its active paths begin, and how many there are.
    blocks: Vec<(u32, u32)>,
    is_in: Vec<bool>,
}

impl Active {
    pub fn new(columns: &Columns) -> Self {
        Self {
            on_row: vec![vec![]; columns.rows()],
            amounts: vec![vec![]; if columns.has_amounts() { columns.rows() } else { 0 }],
            path: vec![],
            owner: vec![],
            sums: vec![],
            blocks: vec![(NO_BLOCK, 0); columns.connections()],
            is_in: vec![false; columns.paths()],
        }
    }

    /// Adds a path, and with the first of a connection its main path.
    pub fn add(&mut self, columns: &Columns, path: u32, main: &[u32]) {
        let c = columns.owner[path as usize];
        let (start, count) = &mut self.blocks[c as usize];
        if *start == NO_BLOCK {
            let (end, most) = (self.path.len(), columns.paths_of(c as usize).len());
            *start = end as u32;
            self.path.resize(end + most, u32::MAX);
            self.owner.resize(end + most, c);
            self.sums.resize(end + most, 0.0);
        }
        if *count == 0 {
            self.put(columns, main[c as usize], c);
        }
        self.put(columns, path, c);
    }

    fn put(&mut self, columns: &Columns, path: u32, c: u32) {
        if std::mem::replace(&mut self.is_in[path as usize], true) {
            return;
        }
        let (start, count) = &mut self.blocks[c as usize];
        let place = *start + *count;
        *count += 1;
        self.path[place as usize] = path;
        for &(row, a) in columns.uses_of(path as usize) {
            self.on_row[row as usize].push(place);
            if let Some(amounts) = self.amounts.get_mut(row as usize) {
                amounts.push(a);
            }
        }
    }

    /// Adds `price` times what a unit of rate uses of a row to the sum of each path on it; `touch` hears of their
    /// connections.
    pub fn add_price(&mut self, row: usize, price: f64, mut touch: impl FnMut(u32)) {
        for (i, &place) in self.on_row[row].iter().enumerate() {
            let amount = self.amounts.get(row).map_or(1.0, |amounts| amounts[i]);
            self.sums[place as usize] += price * amount;
            touch(self.owner[place as usize]);
        }
    }

    /// Tells `each` of the active paths of a connection and what each costs less than the main one, and forgets it.
    pub fn take_differences(&mut self, c: u32, main: u32, mut each: impl FnMut(u32, f64)) {
        let (start, count) = self.blocks[c as usize];
        let block = start as usize..(start + count) as usize;
        let (paths, sums) = (&self.path[block.clone()], &mut self.sums[block]);
        let offer = paths.iter().position(|&path| path == main).map_or(0.0, |at| sums[at]);
        for (&path, sum) in paths.iter().zip(sums) {
            each(path, std::mem::take(sum) - offer);
        }
    }
}
