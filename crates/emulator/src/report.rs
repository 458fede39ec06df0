//! What came of a lab: how punctual it was, and what happened on its links.

use anabranch_core::Span;

/// A lab is invalid if one packet in a hundred is later than this part of the least round trip.
pub const MOST_LATE: f64 = 0.05;

/// How late packets were delivered, after the times at which they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Of half of the packets no more than this.
    pub p50: Span,
    /// Of 99 in a hundred no more than this.
    pub p99: Span,
    /// Of all no more than this.
    pub max: Span,
}

/// What happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// Its name.
    pub link: String,
    /// Packets that it took in.
    pub packets: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Packets for which there was no room, or that were lost on the way.
    pub dropped: u64,
    /// Packets that it marked.
    pub marked: u64,
    /// The most packets that waited, the one in transmission included.
    pub most_packets: u32,
}

/// What came of a lab.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// How long it lasted.
    pub lasted: Span,
    /// Packets that were delivered.
    pub delivered: u64,
    /// How late.
    pub lateness: Lateness,
    /// For so long the emulator's thread had a processor.
    pub busy: Span,
    /// Whether it had precedence over ordinary threads.
    pub has_precedence: bool,
    /// Packets whose addresses are of no path.
    pub strangers: u64,
    /// Links in use, in the order of the plan's network.
    pub links: Vec<LinkReport>,
    /// Why the lab was not what the plan describes; empty if it was.
    pub faults: Vec<String>,
}

impl Report {
    /// Whether the lab was what the plan describes.
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }
}

/// What makes a lab invalid, as people read it.
pub(crate) fn faults(lateness: &Lateness, least_round_trip: Span, lost: u64, overflowed: u64) -> Vec<String> {
    let mut faults = Vec::new();
    let most = Span((least_round_trip.0 as f64 * MOST_LATE) as u64);
    if lateness.p99 > most {
        faults.push(format!(
            "one packet in a hundred was {} late or more; at most {most} would do, {}% of the least round trip",
            lateness.p99,
            MOST_LATE * 100.0
        ));
    }
    if lost > 0 {
        faults.push(format!("the kernel dropped {lost} packets before or after they were on a link"));
    }
    if overflowed > 0 {
        faults.push(format!("{overflowed} packets found no memory; give links a limit with `queue`"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_is_invalid_if_its_packets_are_late_or_lost() {
        // 5 % of 20 ms is 1 ms.
        let late = |ms: u64| Lateness { p99: Span(ms * 1_000_000_000), ..Lateness::default() };
        let round_trip = Span(20 * 1_000_000_000);
        assert!(faults(&late(1), round_trip, 0, 0).is_empty());
        let all = faults(&late(2), round_trip, 3, 4);
        assert!(all[0].contains("2 ms late") && all[0].contains("at most 1 ms"), "{all:?}");
        assert!(all[1].contains("3 packets") && all[2].contains("4 packets"));
    }
}
