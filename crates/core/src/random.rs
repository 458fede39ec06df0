//! Randomness: one ChaCha8 stream for each purpose and id, never shared.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// What a stream of random numbers is for; each purpose has streams of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// The shape of a generated network.
    Topology = 1,
    /// Delays of generated links.
    Delays = 2,
    /// Who sends how much to whom.
    Demands = 3,
    /// What happens to packets on links that lose, repeat or reorder some.
    Faults = 4,
    /// How much a connection sends.
    Amounts = 5,
    /// How many paths a connection has.
    PathCounts = 6,
    /// Where connections of a group begin and end; this and the next have an id for each group.
    TrafficEnds = 7,
    /// When they begin.
    TrafficArrivals = 8,
    /// How long they stay.
    TrafficLifetimes = 9,
    /// How much they send.
    TrafficAmounts = 10,
    /// How many paths they have.
    TrafficPathCounts = 11,
    /// What queue disciplines drop or mark.
    Queues = 12,
    /// Which bits stand for a link in filters; this has an id for each table.
    LinkIdentities = 13,
    /// Which further sources connections of a group have.
    TrafficSources = 14,
    /// Which packets relays mark; this has an id for each connection that goes on from one.
    Relays = 15,
}

/// The stream of `purpose` number `id` under `seed`.
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
