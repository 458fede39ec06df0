//! Families of similar queue disciplines, as the documentation lists them.

/// A family of similar queue disciplines; the order is that of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Disciplines in which packets leave in the order of arrival.
    Arrival,
    /// Disciplines that drop or mark packets before the queue is full.
    Early,
    /// Disciplines whose marks tell sources more than the existence of a queue.
    Marks,
    /// Disciplines with a queue for each flow, which take turns.
    Turns,
}

impl Family {
    /// All families in their order.
    pub const ALL: [Self; 4] = [Self::Arrival, Self::Early, Self::Marks, Self::Turns];

    /// The name of the family in documentation.
    pub fn title(self) -> &'static str {
        match self {
            Self::Arrival => "First in, first out",
            Self::Early => "Early drops and marks",
            Self::Marks => "Marks for controls that count them",
            Self::Turns => "Turns of flows",
        }
    }
}
