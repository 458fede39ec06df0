//! What came of a lab: how punctual it was, and what happened on its links.

use anabranch_core::Span;

/// A lab is invalid if one packet in a hundred is later than this part of the least round trip.
const MOST_LATE: f64 = 0.05;

/// In picoseconds: shorter round trips count as this, since no thread that sleeps wakes to the microsecond.
const SHORTEST: u64 = 2_000_000_000;

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

/// How late packets and the ends of connections may be, where paths have this least round trip.
pub fn most_late(least_round_trip: Span) -> Span {
    Span((least_round_trip.0.max(SHORTEST) as f64 * MOST_LATE) as u64)
}

/// What would do instead of a lateness, as people read it.
pub fn punctual(least_round_trip: Span) -> String {
    let share = MOST_LATE * 100.0;
    let of = if least_round_trip.0 < SHORTEST {
        "the 2 ms that a shorter round trip counts as"
    } else {
        "the least round trip"
    };
    format!("at most {} would do, {share}% of {of}", most_late(least_round_trip))
}

/// What makes a lab invalid, as people read it.
pub(crate) fn faults(lateness: &Lateness, least_round_trip: Span, lost: u64, overflowed: u64) -> Vec<String> {
    let mut faults = Vec::new();
    if lateness.p99 > most_late(least_round_trip) {
        let told = punctual(least_round_trip);
        faults.push(format!("one packet in a hundred was {} late or more; {told}", lateness.p99));
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
        let late = |ms: u64| Lateness { p99: Span::ms(ms), ..Lateness::default() };
        let round_trip = Span::ms(20);
        assert!(faults(&late(1), round_trip, 0, 0).is_empty());
        let all = faults(&late(2), round_trip, 3, 4);
        assert!(all[0].contains("2 ms late") && all[0].contains("at most 1 ms"), "{all:?}");
        assert!(all[1].contains("3 packets") && all[2].contains("4 packets"));
    }

    #[test]
    fn a_lab_without_delays_is_valid_if_its_packets_are_as_punctual_as_threads_wake() {
        // 5 % of 2 ms is 100 us, which also is the most for round trips of less.
        let late = |us: u64| Lateness { p99: Span::us(us), ..Lateness::default() };
        for round_trip in [Span(0), Span::ms(1), Span::ms(2)] {
            assert!(faults(&late(100), round_trip, 0, 0).is_empty(), "{round_trip}");
            assert_eq!(faults(&late(101), round_trip, 0, 0).len(), 1, "{round_trip}");
        }
        let said = faults(&late(101), Span(0), 0, 0).remove(0);
        assert!(
            said.ends_with("at most 100 us would do, 5% of the 2 ms that a shorter round trip counts as"),
            "{said}"
        );
    }
}
