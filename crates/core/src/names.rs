//! Names for items that have none: `a-b`, then `a-b#2`, `a-b#3` and so on.

use std::collections::HashMap;

/// A search for free names, in constant time for each name, however many have the same base.
#[derive(Clone, Debug, Default)]
pub struct FreeNames {
    /// The number of the last name found for each base that was taken.
    last: HashMap<String, usize>,
}

impl FreeNames {
    /// A search that has not found any names yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first of `base`, `base#2`, `base#3`, ... that is not taken; a name that was taken once must stay taken.
    pub fn find(&mut self, base: String, is_taken: impl Fn(&str) -> bool) -> String {
        if !is_taken(&base) {
            return base;
        }
        // The last name may still be free, if it was not used.
        let last = self.last.get(&base).copied().unwrap_or(2);
        let numbered = (last..).map(|n| (n, format!("{base}#{n}")));
        let (number, name) = numbered.into_iter().find(|(_, name)| !is_taken(name)).expect("some number is free");
        self.last.insert(base, number);
        name
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn taken_numbers_are_skipped() {
        let mut taken = HashSet::from(["a", "a#2", "a#4"].map(str::to_owned));
        let mut free = FreeNames::new();
        let mut take = |base: &str| {
            let name = free.find(base.to_owned(), |name| taken.contains(name));
            taken.insert(name.clone());
            name
        };
        assert_eq!(["a", "b", "a", "b", "a"].map(&mut take), ["a#3", "b", "a#5", "b#2", "a#6"]);
    }

    #[test]
    fn a_name_that_was_not_taken_is_found_again() {
        let mut free = FreeNames::new();
        let is_taken = |name: &str| name == "a";
        assert_eq!(free.find("a".to_owned(), is_taken), "a#2");
        assert_eq!(free.find("a".to_owned(), is_taken), "a#2");
    }
}
