//! Random number streams: one ChaCha8 stream for each purpose and id, never shared.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The purpose of a stream of random numbers; each purpose has its own streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// The shape of a generated network.
    Topology = 1,
    /// Delays of generated links.
    Delays = 2,
    /// The demands of connections.
    Demands = 3,
    /// The fate of packets on links that lose, repeat or reorder some.
    Faults = 4,
    /// The amounts of data that connections send.
    Amounts = 5,
    /// The numbers of paths of connections.
    PathCounts = 6,
    /// The sources and targets of connections in a group; this and the next purposes have an id for each group.
    TrafficEnds = 7,
    /// The start times of connections in a group.
    TrafficArrivals = 8,
    /// The lifetimes of connections in a group.
    TrafficLifetimes = 9,
    /// The amounts of data that connections in a group send.
    TrafficAmounts = 10,
    /// The numbers of paths of connections in a group.
    TrafficPathCounts = 11,
    /// The packets that queue disciplines drop or mark.
    Queues = 12,
    /// The bits that stand for a link in filters; this has an id for each table.
    LinkIdentities = 13,
    /// The further sources of connections in a group.
    TrafficSources = 14,
    /// The packets that relays mark; this has an id for each connection that continues from a relay.
    Relays = 15,
    /// The first intervals of the timers of link controls; this has an id for each link.
    LinkTimers = 16,
    /// The errors of the capacities that links report; this has an id for each link.
    CapacityReports = 17,
}

/// The stream of `purpose` with number `id` under `seed`.
pub fn stream(seed: u64, purpose: Purpose, id: u32) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream((u64::from(purpose as u32) << 32) | u64::from(id));
    rng
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_differ_by_seed_purpose_and_id_and_repeat() {
        let first = |seed, purpose, id| stream(seed, purpose, id).next_u64();
        let base = first(1, Purpose::Topology, 0);
        assert_eq!(base, first(1, Purpose::Topology, 0));
        assert_ne!(base, first(2, Purpose::Topology, 0));
        assert_ne!(base, first(1, Purpose::Demands, 0));
        assert_ne!(base, first(1, Purpose::Topology, 1));
    }
}
