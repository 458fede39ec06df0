//! The set of frozen connections.

/// A set of connections, one bit for each.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    words: Vec<u64>,
}

impl Frozen {
    /// Clears the set.
    pub fn clear(&mut self, connections: usize) {
        self.words.clear();
        self.words.resize(connections.div_ceil(64), 0);
    }

    /// Adds a connection; returns whether it was absent.
    #[inline]
    pub fn insert(&mut self, connection: u32) -> bool {
        let (word, bit) = (&mut self.words[connection as usize / 64], 1 << (connection % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether this connection is frozen.
    pub fn contains(&self, connection: u32) -> bool {
        self.words[connection as usize / 64] & (1 << (connection % 64)) != 0
    }

    /// The first of `connections` that is not frozen.
    pub fn first_live(&self, connections: usize) -> Option<usize> {
        let word = self.words.iter().position(|&word| word != u64::MAX)?;
        let first = word * 64 + self.words[word].trailing_ones() as usize;
        (first < connections).then_some(first)
    }
}
