//! Columns of another library's frame, read in place through the Arrow C data interface, as far as results need it.
//!
//! The crate reads numbers of 32 or 64 bits, and texts as views, in flat tables; it refuses a frame with other types.
//! It checks a frame once, when it takes the frame: lengths, offsets, counts, types, and where buffers begin. It cannot
//! check that a buffer has as many bytes as the frame says, and relies on the frame's library for that. The structures
//! and their fields are described at <https://arrow.apache.org/docs/format/CDataInterface.html>.

// Only pointers tell where another library keeps its columns; all code that follows them is in this crate.
#![allow(unsafe_code)]

mod column;
mod frame;
mod interface;
#[cfg(test)]
mod tests;

pub use column::{Kind, Number, Part, Texts};
pub use frame::{Frame, FrameError};
pub use interface::Stream;
