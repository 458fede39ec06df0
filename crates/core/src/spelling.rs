//! A guess of the name that a misspelt name stands for.

/// The candidate that differs least from `name` without regard to case, if at most a third of it differs.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let limit = (length / 3).max(1).min(length - length.min(1));
    let measured = candidates.map(|c| (edit_distance(&wanted, &c.to_lowercase()), c));
    measured.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, c)| c)
}

/// The number of insertions, deletions and replacements that turn `a` into `b` (Levenshtein distance).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
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
        assert_eq!(nearest("olso", names.into_iter()), None);
        assert_eq!(nearest("Bergn", names.into_iter()), Some("Bergen"));
        assert_eq!(nearest("oslo", names.into_iter()), Some("Oslo"));
    }
}
