//! What may be expected of a protocol that grants rates, where it is not as most are.

/// How well a protocol that grants rates does on a link of 10 Mbit/s and 5 ms, for tests that hold for all protocols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expect {
    /// The time in seconds within which rates settle.
    pub settles_s: f64,
    /// How many times as far from fair as with other protocols rates may be.
    pub laxity: f64,
    /// The largest part of a link's capacity by which granted rates may exceed it for good.
    pub excess: f64,
    /// The distance in Mbit/s that rates may keep from fair ones after a demand changed.
    pub after_demand_mbps: f64,
    /// The size of data packets in bytes at which links get enough of them to measure.
    pub packet: u64,
    /// Whether links measure all that comes, control packets too.
    pub measures_load: bool,
    /// Whether control packets may wait in queues with data.
    pub may_wait: bool,
    /// Whether rates settle in time even if control packets are held back to 1 % of the rate.
    pub settles_held_back: bool,
}

impl Expect {
    /// What most protocols do.
    pub const USUAL: Self = Self {
        settles_s: 2.0,
        laxity: 1.0,
        excess: 0.0,
        after_demand_mbps: 0.2,
        packet: 1000,
        measures_load: false,
        may_wait: true,
        settles_held_back: true,
    };
}
