//! Bytes of a flow over several subflows, each a stream of its own connection: numbered, handed out to those that have room,
//! and put in order at the other end.
//!
//! What a subflow has that fails is handed out again to others at once, and no subflow waits for the bytes of another. The
//! module has no I/O and knows no clock.

pub mod frame;
pub mod pieces;
pub mod receiver;
pub mod schedule;
pub mod sender;
#[cfg(test)]
mod tests;

/// What the other end of a flow does that no end may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// It sends bytes that this end does not take yet.
    #[error("it sends more than this end takes")]
    BeyondLimit,
    /// It sends bytes after the end, or says that another byte is the last.
    #[error("it sends more than it has")]
    BeyondEnd,
    /// Its pieces are so small and so far from each other that they take much memory.
    #[error("it leaves too many gaps")]
    TooManyGaps,
    /// It says that it has bytes that were not sent.
    #[error("it has what was never sent")]
    NeverSent,
    /// It says something that is no frame.
    #[error("what it says cannot be read")]
    Malformed,
}
