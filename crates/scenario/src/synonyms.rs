//! Words of other texts and programs for keys of the scenario file.

/// Words that others use for a key, each with the keys that it may stand for.
const SYNONYMS: [(&str, &[&str]); 26] = [
    ("aqm", &["discipline"]),
    ("bandwidth", &["capacity"]),
    ("buffer", &["queue"]),
    ("bytes", &["amount"]),
    ("cc", &["protocol"]),
    ("congestion_control", &["protocol"]),
    ("dst", &["target"]),
    ("edge", &["link"]),
    ("end", &["stop", "duration"]),
    ("flow", &["connection"]),
    ("from", &["source"]),
    ("latency", &["delay"]),
    ("length", &["duration"]),
    ("limit", &["queue"]),
    ("qdisc", &["discipline"]),
    ("rate", &["capacity", "demand"]),
    ("routes", &["paths"]),
    ("sampling", &["sample"]),
    ("size", &["amount"]),
    ("speed", &["capacity"]),
    ("src", &["source"]),
    ("subflows", &["paths"]),
    ("time", &["duration", "at"]),
    ("to", &["target"]),
    ("transient", &["warm_up"]),
    ("warmup", &["warm_up"]),
];

/// The key among `known` that `word` stands for elsewhere.
pub(crate) fn key_for<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let (_, keys) = SYNONYMS.iter().find(|(other, _)| *other == word)?;
    keys.iter().find_map(|key| known.iter().copied().find(|one| one == key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_others_stands_for_a_key_that_is_there() {
        assert_eq!(key_for("time", &["duration", "seed"]), Some("duration"));
        assert_eq!(key_for("Rate", &["demand", "weight"]), Some("demand"));
        assert_eq!(key_for("time", &["seed"]), None);
        assert_eq!(key_for("colour", &["seed"]), None);
    }

    #[test]
    fn words_are_in_alphabetical_order() {
        assert!(SYNONYMS.is_sorted_by_key(|(word, _)| *word));
    }
}
