//! Columns of a frame, read where they lie: the Arrow C data interface, as far as results need it.
//!
//! Numbers of 32 or 64 bits, and texts as views, in flat tables; a frame with others is refused. The structures and
//! what their fields mean: <https://arrow.apache.org/docs/format/CDataInterface.html>.

// Only a pointer tells where another library keeps its columns; all that follows from one is in this file.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::{ptr, slice};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The columns of a frame, which stay as they are for as long as this lives.
pub struct Frame {
    /// Names and kinds of all columns.
    pub columns: Vec<(String, Kind)>,
    chunks: Vec<Array>,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Float64,
    Int64,
    Uint64,
    Uint32,
    Text,
}

/// The part of a column that lies in one chunk of its frame.
pub struct Part<'a> {
    array: &'a Array,
    offset: usize,
    rows: usize,
}

/// Texts of up to 12 bytes lie in their view; of others it tells in which buffer they lie, and where.
pub struct Texts<'a> {
    views: &'a [[u32; 4]],
    buffers: Vec<&'a [u8]>,
}

impl Frame {
    /// Takes what is needed of a polars frame, or of any other that has `__arrow_c_stream__`.
    pub fn of(frame: &Bound<'_, PyAny>) -> PyResult<Self> {
        let capsule = frame.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<Stream>().as_ptr();
        let mut schema = Schema::default();
        // SAFETY: a capsule of this name holds a stream, and keeps it until it is dropped, after the last call.
        unsafe { told((*stream).get_schema.expect("a stream tells its schema")(stream, &raw mut schema))? };
        let columns = schema.children().iter().map(|&child| unsafe { &*child }.column()).collect::<PyResult<_>>()?;
        let mut chunks = Vec::new();
        loop {
            let mut chunk = Array::default();
            // SAFETY: as above.
            unsafe { told((*stream).get_next.expect("a stream gives chunks")(stream, &raw mut chunk))? };
            if chunk.release.is_none() {
                return Ok(Self { columns, chunks });
            }
            chunks.push(chunk);
        }
    }

    /// How many rows each of its chunks has.
    pub fn chunk_rows(&self) -> impl Iterator<Item = usize> {
        self.chunks.iter().map(|chunk| chunk.length as usize)
    }

    /// Some rows of a column, all of one chunk.
    pub fn part(&self, column: usize, chunk: usize, first: usize, rows: usize) -> Part<'_> {
        let chunk = &self.chunks[chunk];
        assert!(first + rows <= chunk.length as usize && column < chunk.n_children as usize, "rows of the chunk");
        // SAFETY: a chunk has a child for each column.
        let array = unsafe { &**chunk.children.add(column) };
        Part { array, offset: (chunk.offset + array.offset) as usize + first, rows }
    }
}

impl<'a> Part<'a> {
    /// Which rows have a value, or `None` if all have.
    pub fn valid(&self) -> Option<Vec<bool>> {
        let bits = self.buffer::<u8>(0)?;
        // SAFETY: it has a bit for each row, the lowest of each byte first.
        let bit = |at: usize| unsafe { *bits.add(at / 8) } >> (at % 8) & 1 == 1;
        (self.array.null_count != 0).then(|| (self.offset..self.offset + self.rows).map(bit).collect())
    }

    /// Its numbers, each of as many bits as a `T`; there is one for nulls, too.
    pub fn numbers<T: Number>(&self) -> &'a [T] {
        // SAFETY: the caller asks for what the schema tells, and any bits are a number.
        self.buffer::<T>(1).map_or(&[], |values| unsafe { slice::from_raw_parts(values.add(self.offset), self.rows) })
    }

    /// Its texts; there is one for nulls, too.
    pub fn texts(&self) -> Texts<'a> {
        let count = (self.array.n_buffers as usize).saturating_sub(3);
        let lengths = self.buffer::<i64>(count + 2);
        // SAFETY: views are followed by the buffers that they tell of, and these by all their lengths.
        let buffer = |i: usize| match (self.buffer::<u8>(i + 2), lengths) {
            (Some(start), Some(lengths)) => unsafe { slice::from_raw_parts(start, *lengths.add(i) as usize) },
            _ => &[],
        };
        Texts { views: self.numbers(), buffers: (0..count).map(buffer).collect() }
    }

    fn buffer<T>(&self, i: usize) -> Option<*const T> {
        assert!(i < self.array.n_buffers as usize, "a column has the buffers of its kind");
        // SAFETY: it has so many buffers.
        let start = unsafe { *self.array.buffers.add(i) }.cast::<T>();
        (!start.is_null() && self.rows > 0).then_some(start)
    }
}

impl<'a> Texts<'a> {
    /// The bytes of the text in a row that has one.
    pub fn get(&self, row: usize) -> &'a [u8] {
        let view = &self.views[row];
        let length = view[0] as usize;
        if length <= 12 {
            // SAFETY: a view has four bytes of length, and twelve of text.
            return unsafe { slice::from_raw_parts(view.as_ptr().cast::<u8>().add(4), length) };
        }
        let start = view[3] as usize;
        &self.buffers[view[2] as usize][start..start + length]
    }
}

/// What may lie in a column, where any bits are a value.
pub trait Number: Copy {}
impl Number for f64 {}
impl Number for i64 {}
impl Number for i32 {}
impl Number for [u32; 4] {}

/// `ArrowArrayStream`.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// `ArrowSchema`.
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// `ArrowArray`.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

// SAFETY: nothing changes what lies in an array, and any thread may release it.
unsafe impl Send for Array {}

impl Schema {
    fn children(&self) -> &[*mut Schema] {
        // SAFETY: it has so many.
        if self.n_children == 0 {
            &[]
        } else {
            unsafe { slice::from_raw_parts(self.children, self.n_children as usize) }
        }
    }

    fn column(&self) -> PyResult<(String, Kind)> {
        // SAFETY: both end in a zero.
        let [format, name] = [self.format, self.name].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
        let kind = match &*format {
            "g" => Kind::Float64,
            "l" => Kind::Int64,
            "L" => Kind::Uint64,
            "I" => Kind::Uint32,
            "vu" => Kind::Text,
            _ => return Err(PyTypeError::new_err(format!("column `{name}`: no results have the Arrow type {format}"))),
        };
        Ok((name.into_owned(), kind))
    }
}

impl Default for Schema {
    fn default() -> Self {
        // SAFETY: null pointers, zeros, and nothing to release.
        unsafe { std::mem::zeroed() }
    }
}

impl Default for Array {
    fn default() -> Self {
        // SAFETY: null pointers, zeros, and nothing to release.
        unsafe { std::mem::zeroed() }
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it is released once.
            unsafe { release(ptr::from_mut(self)) }
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it is released once.
            unsafe { release(ptr::from_mut(self)) }
        }
    }
}

fn told(error: c_int) -> PyResult<()> {
    if error == 0 {
        Ok(())
    } else {
        Err(PyRuntimeError::new_err(format!("the frame's columns cannot be had: error {error}")))
    }
}
