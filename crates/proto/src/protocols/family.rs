//! Families of similar protocols, by which documentation lists them.

/// The families, in the order in which documentation lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Links grant rates to connections of several paths.
    PathRates,
    /// Links grant connections of one path max-min fair rates.
    MaxMinRates,
    /// Each link offers the same rate to all connections.
    LinkRates,
    /// Links change the windows of sources.
    LinkWindows,
    /// Sources change one window by losses and marks.
    LossWindows,
    /// Sources change one window by delays or delivery rates.
    DelayWindows,
    /// Sources keep a window on each of several paths.
    PathWindows,
    /// Rates grow as populations do, or by logarithmic utility.
    Growth,
}

impl Family {
    /// All families in order.
    pub const ALL: [Self; 8] = [
        Self::PathRates,
        Self::MaxMinRates,
        Self::LinkRates,
        Self::LinkWindows,
        Self::LossWindows,
        Self::DelayWindows,
        Self::PathWindows,
        Self::Growth,
    ];

    /// Name of the family for readers.
    pub fn title(self) -> &'static str {
        match self {
            Self::PathRates => "Explicit rates over several paths",
            Self::MaxMinRates => "Explicit rates, max-min fair",
            Self::LinkRates => "One rate for all at a link",
            Self::LinkWindows => "Windows that links enlarge or reduce",
            Self::LossWindows => "One window, by losses and marks",
            Self::DelayWindows => "One window, by delay or a model of the path",
            Self::PathWindows => "Windows of several paths",
            Self::Growth => "Growth as of a population, over chains of loops",
        }
    }
}
