//! Counts of control packets: of each subflow at its source.

use anabranch_proto::Header;

/// The control packets of a subflow, counted at its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCount {
    /// The number of control packets that the source sent.
    pub sent: u64,
    /// The number of packets that came back with a set of bottlenecks.
    pub sets: u64,
    /// The number of bottlenecks in all these sets together.
    pub bottlenecks: u64,
    /// The number of bottlenecks in the largest of these sets.
    pub most_bottlenecks: u32,
}

impl ControlCount {
    /// Counts a packet that came back to the source.
    pub(super) fn on_reply(&mut self, header: &Header) {
        if let Some(bottlenecks) = header.bottlenecks() {
            self.sets += 1;
            self.bottlenecks += u64::from(bottlenecks);
            self.most_bottlenecks = self.most_bottlenecks.max(bottlenecks);
        }
    }
}
