//! Counts of control packets: of each subflow at its source.

/// The control packets of a subflow, counted at its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCount {
    /// The number of control packets that the source sent.
    pub sent: u64,
}
