//! An index of nodes or links by name, without a second copy of the names.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use hashbrown::HashTable;

/// The numbers of items by their names, which are stored elsewhere: a function `name` gives them.
#[derive(Clone, Debug, Default)]
pub(super) struct NameIndex {
    numbers: HashTable<u32>,
}

impl NameIndex {
    /// Reserves memory for this many more items, whose names `name` gives.
    pub fn reserve<'a>(&mut self, more: usize, name: impl Fn(u32) -> &'a str) {
        self.numbers.reserve(more, |&number| hash(name(number)));
    }

    /// The number of the item named `wanted`, if there is one.
    pub fn find<'a>(&self, wanted: &str, name: impl Fn(u32) -> &'a str) -> Option<u32> {
        self.numbers.find(hash(wanted), |&number| name(number) == wanted).copied()
    }

    /// Assigns a number to a new name.
    pub fn insert<'a>(&mut self, new: &str, number: u32, name: impl Fn(u32) -> &'a str) {
        self.numbers.insert_unique(hash(new), number, |&number| hash(name(number)));
    }
}

fn hash(name: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}
