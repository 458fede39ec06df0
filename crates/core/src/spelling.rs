//! A guess of the name that a misspelt name stands for.

/// The candidate that differs least from `name` without regard to case, if at most a third of it differs.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let limit = (length / 3).max(1).min(length - length.min(1));
    let measured = candidates.map(|c| (edit_distance(&wanted, &c.to_lowercase()), c));
    measured.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, c)| c)
}

/// The number of insertions, deletions, replacements and exchanges of neighbours that turn `a` into `b`, where no letter
/// is edited twice (Damerau-Levenshtein distance in its form of optimal string alignment).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // The distances of the first i letters of `a` from the beginnings of `b`; of one letter less; of two letters less.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let (mut before, mut two_before) = (row.clone(), row.clone());
    for i in 1..=a.len() {
        two_before.swap_with_slice(&mut before);
        before.swap_with_slice(&mut row);
        row[0] = i;
        for j in 1..=b.len() {
            let replaced = before[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(row[j - 1] + 1).min(before[j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(two_before[j - 2] + 1);
            }
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_name_gets_a_hint() {
        let names = ["Oslo", "Bergen", "Tromso"];
        assert_eq!(nearest("olso", names.into_iter()), Some("Oslo"));
        assert_eq!(nearest("lsoo", names.into_iter()), None);
        assert_eq!(nearest("Bergn", names.into_iter()), Some("Bergen"));
        assert_eq!(nearest("oslo", names.into_iter()), Some("Oslo"));
    }
    #[test]
    fn letters_that_are_exchanged_are_one_mistake() {
        assert_eq!(edit_distance("frist", "first"), 1);
        assert_eq!(edit_distance("ab", "ba"), 1);
        assert_eq!(edit_distance("abcd", "badc"), 2);
        // The letters of an exchange are not edited again: ca, ac and abc would be two steps.
        assert_eq!(edit_distance("ca", "abc"), 3);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!([edit_distance("", "abc"), edit_distance("abc", ""), edit_distance("", "")], [3, 3, 0]);
    }
}
