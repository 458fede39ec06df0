//! The report of a lab: its punctuality, and the counters of its links.

use anabranch_core::Span;

/// A lab is invalid if one packet in a hundred is later than this part of the least round-trip time.
const MOST_LATE: f64 = 0.05;

/// Least round-trip time for this rule in picoseconds, since no sleeping thread wakes exactly to the microsecond.
const SHORTEST: u64 = 2_000_000_000;

/// The lateness of packets: the time from when they were due until their delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Median lateness.
    pub p50: Span,
    /// 99th percentile of the lateness.
    pub p99: Span,
    /// Greatest lateness.
    pub max: Span,
}

/// The counters of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// Name of the link.
    pub link: String,
    /// Number of packets that the link took in.
    pub packets: u64,
    /// Bytes of these packets, including IP headers.
    pub bytes: u64,
    /// Number of packets for which there was no room, or that were lost on the way.
    pub dropped: u64,
    /// Number of packets that the link marked.
    pub marked: u64,
    /// Greatest number of packets that waited, including the packet in transmission.
    pub most_packets: u32,
}

/// The report of a lab.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Duration of the lab.
    pub lasted: Span,
    /// Number of packets delivered.
    pub delivered: u64,
    /// Lateness of the packets.
    pub lateness: Lateness,
    /// Processor time of the emulator's thread.
    pub busy: Span,
    /// Whether the thread had real-time priority.
    pub has_precedence: bool,
    /// Number of packets with addresses of no path.
    pub strangers: u64,
    /// The links in use, in the order of the plan's network.
    pub links: Vec<LinkReport>,
    /// The reasons why the lab deviated from the plan; empty if it did not.
    pub faults: Vec<String>,
}

impl Report {
    /// Whether the lab complied with the plan.
    pub fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }
}

/// The greatest valid lateness of packets and of the ends of connections, for paths with this least round-trip time.
pub fn most_late(least_round_trip: Span) -> Span {
    Span((least_round_trip.0.max(SHORTEST) as f64 * MOST_LATE) as u64)
}

/// The lateness that would be acceptable, in readable form.
pub fn punctual(least_round_trip: Span) -> String {
    let share = MOST_LATE * 100.0;
    let of = if least_round_trip.0 < SHORTEST {
        "the 2 ms that a shorter round trip counts as"
    } else {
        "the least round trip"
    };
    format!("at most {} would do, {share}% of {of}", most_late(least_round_trip))
}

/// The reasons why a lab is invalid, in readable form.
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
