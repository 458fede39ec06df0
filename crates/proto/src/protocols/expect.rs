//! Expectations of protocols that grant rates, where they differ from those of most.

/// Performance of a protocol that grants rates on a link of 10 Mbit/s and 5 ms, for tests that hold for all protocols.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expect {
    /// Time in seconds within which rates settle.
    pub settles_s: f64,
    /// Factor on the distance from fair rates that tests allow other protocols.
    pub laxity: f64,
    /// Largest part of a link's capacity by which granted rates may exceed it permanently.
    pub excess: f64,
    /// Distance in Mbit/s that rates may keep from fair ones after a demand changed.
    pub after_demand_mbps: f64,
    /// Size of data packets in bytes at which links receive enough of them to measure.
    pub packet: u64,
    /// Whether links measure all traffic, control packets included.
    pub measures_load: bool,
    /// Whether control packets may wait in queues with data.
    pub may_wait: bool,
    /// Whether rates settle in time even if control packets are held back to 1 % of the rate.
    pub settles_held_back: bool,
}

impl Expect {
    /// Expectations of most protocols.
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
