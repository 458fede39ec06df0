//! Families of queue disciplines: those that are alike, as documentation lists them.

/// What queue disciplines of one family have in common; in the order in which documentation lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Packets leave in the order in which they came.
    Arrival,
    /// Packets are dropped or marked before the queue is full.
    Early,
    /// Marks tell sources more than that there is a queue.
    Marks,
    /// Each flow has a queue, and these take turns.
    Turns,
}

impl Family {
    /// All families in their order.
    pub const ALL: [Self; 4] = [Self::Arrival, Self::Early, Self::Marks, Self::Turns];

    /// Its name as people read it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Arrival => "First in, first out",
            Self::Early => "Early drops and marks",
            Self::Marks => "Marks for controls that count them",
            Self::Turns => "Turns of flows",
        }
    }
}
