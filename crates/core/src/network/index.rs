//! Which node or link has a name, without a second copy of the names.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use hashbrown::HashTable;

/// The numbers of things by their names, which stand elsewhere: `name` gives them.
#[derive(Clone, Debug, Default)]
pub(super) struct NameIndex {
    numbers: HashTable<u32>,
}

impl NameIndex {
    /// Makes room for so many more, whose names `name` gives.
    pub fn reserve<'a>(&mut self, more: usize, name: impl Fn(u32) -> &'a str) {
        self.numbers.reserve(more, |&number| hash(name(number)));
    }

    /// The number of `wanted`, if it has one.
    pub fn find<'a>(&self, wanted: &str, name: impl Fn(u32) -> &'a str) -> Option<u32> {
        self.numbers.find(hash(wanted), |&number| name(number) == wanted).copied()
    }

    /// Gives a name that has none yet its number.
    pub fn insert<'a>(&mut self, new: &str, number: u32, name: impl Fn(u32) -> &'a str) {
        self.numbers.insert_unique(hash(new), number, |&number| hash(name(number)));
    }
}

fn hash(name: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}
