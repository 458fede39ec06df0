//! Columns of another library's frame, read where they lie: the Arrow C data interface, as far as results need it.
//!
//! Numbers of 32 or 64 bits, and texts as views, in flat tables; a frame with others is refused. What a frame says of
//! itself is checked once, when it is taken: lengths, offsets, counts, types, and where buffers begin. Nobody can check
//! that memory is there for as many bytes as a frame says: that much its library is trusted with. The structures and what
//! their fields mean: <https://arrow.apache.org/docs/format/CDataInterface.html>.

// Only a pointer tells where another library keeps its columns; all that follows from one is in this crate.
#![allow(unsafe_code)]

mod column;
mod frame;
mod interface;
#[cfg(test)]
mod tests;

pub use column::{Kind, Number, Part, Texts};
pub use frame::{Frame, FrameError};
pub use interface::Stream;
