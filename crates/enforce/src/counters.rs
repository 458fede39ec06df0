//! What the kernel counts at the classes of sessions and devices.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::plan::{Class, class_of};

/// What a class has sent since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Bytes of packets with their headers that were sent.
    pub bytes: u64,
    /// Packets that were sent.
    pub packets: u64,
    /// Packets that the queue dropped.
    pub drops: u64,
    /// Bytes that wait; the kernel's program rounds numbers above a kibibyte.
    pub backlog_bytes: u64,
    /// Packets that wait.
    pub backlog_packets: u64,
    /// The rate of the class in bit/s, as the kernel has it; rounded as `tc` does.
    pub rate_bps: u64,
    /// When the device was asked.
    pub asked: Option<Instant>,
}

/// What is counted at all classes, and what went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Each session by its name, with a row for each path.
    pub sessions: BTreeMap<String, Vec<ClassCounters>>,
    /// Other traffic of each device.
    pub others: BTreeMap<String, ClassCounters>,
    /// The number of commands that the kernel refused while rates were changed.
    pub errors: u64,
    /// The words about the last refusal.
    pub last_error: Option<String>,
}

/// Reads the answer of `tc -s class show`, which has no JSON in older versions.
pub(crate) fn read(answer: &str) -> BTreeMap<Class, ClassCounters> {
    let mut found = BTreeMap::new();
    let mut current = None;
    for line in answer.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["class", "htb", id, ..] = words[..] {
            current = class_of(id);
            if let Some(class) = current {
                let rate = words.iter().position(|&word| word == "rate").and_then(|at| words.get(at + 1));
                let rate_bps = rate.map_or(0, |text| quantity(text, "bit", 1000.0));
                found.insert(class, ClassCounters { rate_bps, ..ClassCounters::default() });
            }
        }
        let Some(counters) = current.and_then(|class| found.get_mut(&class)) else { continue };
        match words[..] {
            ["Sent", bytes, "bytes", packets, "pkt", "(dropped", drops, ..] => {
                counters.bytes = bytes.parse().unwrap_or(0);
                counters.packets = packets.parse().unwrap_or(0);
                counters.drops = drops.trim_end_matches(',').parse().unwrap_or(0);
            }
            ["backlog", bytes, packets, ..] => {
                counters.backlog_bytes = quantity(bytes, "b", 1024.0);
                counters.backlog_packets = packets.trim_end_matches('p').parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    found
}

/// A number with a prefix and a unit, such as `12Kb` or `10Mbit`.
fn quantity(text: &str, unit: &str, base: f64) -> u64 {
    let text = text.strip_suffix(unit).unwrap_or(text);
    let (number, power) = match text.chars().last() {
        Some('K') => (&text[..text.len() - 1], 1),
        Some('M') => (&text[..text.len() - 1], 2),
        Some('G') => (&text[..text.len() - 1], 3),
        Some('T') => (&text[..text.len() - 1], 4),
        _ => (text, 0),
    };
    number.parse().map_or(0, |number: f64| (number * base.powi(power)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_classes_are_read() {
        let answer = "class htb ab:1 root rate 1Gbit ceil 1Gbit burst 1375b cburst 1375b \n \
             Sent 9 bytes 9 pkt (dropped 9, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n\
             class htb ab:101 parent ab:1 leaf 101: prio 0 rate 12500Kbit ceil 12500Kbit burst 3028b cburst 3028b \n \
             Sent 13704 bytes 83 pkt (dropped 2, overlimits 7 requeues 0) \n backlog 12Kb 9p requeues 0\n \
             lended: 83 borrowed: 0 giants: 0\n tokens: 184 ctokens: 184\n";
        let counters = ClassCounters {
            bytes: 13_704,
            packets: 83,
            drops: 2,
            backlog_bytes: 12_288,
            backlog_packets: 9,
            rate_bps: 12_500_000,
            asked: None,
        };
        assert_eq!(read(answer), BTreeMap::from([(Class::Way(1), counters)]));
        assert_eq!(read("class htb ab:\nSent many bytes\nclass htb zz:1 root"), BTreeMap::new());
    }
}
