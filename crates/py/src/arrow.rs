//! Frames from Python, taken through their Arrow C stream.

// Only the frame's library can promise that its stream is valid.
#![allow(unsafe_code)]

use anabranch_arrow::{Frame, FrameError, Stream};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Takes the columns of a frame from polars, or of any other that has `__arrow_c_stream__`.
pub fn taken(frame: &Bound<'_, PyAny>) -> PyResult<Frame> {
    let capsule = frame.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<Stream>();
    // SAFETY: a capsule of this name holds a stream, and keeps it until the capsule is dropped, which is after this
    // call.
    unsafe { Frame::take(&mut *stream.as_ptr()) }.map_err(|error| match error {
        FrameError::Refused { .. } => PyRuntimeError::new_err(error.to_string()),
        FrameError::Type { .. } => PyTypeError::new_err(error.to_string()),
        FrameError::Malformed { .. } => PyValueError::new_err(error.to_string()),
    })
}
