//! A checked frame, taken from a stream.

use std::ops::Range;

use thiserror::Error;

use crate::column::{Column, Kind, Part};
use crate::interface::{Array, Schema, Stream, items, text};

/// The reason why a frame is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The frame's library does not provide the columns.
    #[error("the frame's library does not give its columns: error {code} {reason}")]
    Refused {
        /// The error number, as the system has it.
        code: i32,
        /// The message of the library.
        reason: String,
    },
    /// A column has a type that results do not use.
    #[error("column `{column}`: no results have the Arrow type {format}; use numbers of 32 or 64 bits, or texts")]
    Type {
        /// Name of the column.
        column: String,
        /// Format string of the type in the interface.
        format: String,
    },
    /// The frame violates the interface.
    #[error("{place} is not as the Arrow C data interface has it: {reason}; give a frame of polars")]
    Malformed {
        /// The frame, or a column.
        place: String,
        /// The violation.
        reason: &'static str,
    },
}

/// The columns of a frame, which stay unchanged for as long as this lives.
pub struct Frame {
    /// Names and kinds of all columns.
    pub columns: Vec<(String, Kind)>,
    chunks: Vec<Chunk>,
}

/// A chunk of the rows of a frame.
struct Chunk {
    rows: usize,
    columns: Vec<Column>,
    /// The array that keeps the memory of the columns alive.
    _array: Array,
}

// SAFETY: the columns point into the array, which may go to another thread.
unsafe impl Send for Chunk {}

impl Frame {
    /// Takes a frame from its stream, to the end.
    ///
    /// # Errors
    /// Returns an error if the stream fails, has a column of another type, or violates the interface.
    ///
    /// # Safety
    /// The functions of the stream are as the interface describes them, and every pointer that they give and that is
    /// not null leads to as many bytes as the counts beside it say.
    pub unsafe fn take(stream: &mut Stream) -> Result<Self, FrameError> {
        let mut schema = Schema::default();
        let get_schema = stream.get_schema.ok_or_else(|| malformed("the stream does not tell its schema"))?;
        // SAFETY: the caller's promise, here and below.
        told(unsafe { get_schema(stream, &raw mut schema) }, stream)?;
        let columns = unsafe { columns(&schema) }?;
        let mut chunks = Vec::new();
        loop {
            let mut array = Array::default();
            let get_next = stream.get_next.ok_or_else(|| malformed("the stream gives no chunks"))?;
            told(unsafe { get_next(stream, &raw mut array) }, stream)?;
            if array.release.is_none() {
                return Ok(Self { columns, chunks });
            }
            chunks.push(unsafe { Chunk::of(array, &columns) }?);
        }
    }

    /// Number of rows in each chunk.
    pub fn chunk_rows(&self) -> impl Iterator<Item = usize> {
        self.chunks.iter().map(|chunk| chunk.rows)
    }

    /// A range of rows of a column, all in one chunk.
    ///
    /// # Panics
    /// If there is no such column, or the chunk has no such rows.
    pub fn part(&self, column: usize, chunk: usize, rows: Range<usize>) -> Part<'_> {
        let chunk = &self.chunks[chunk];
        assert!(rows.start <= rows.end && rows.end <= chunk.rows, "the chunk has these rows");
        chunk.columns[column].part(rows)
    }
}

impl Chunk {
    /// Checks an array of the columns.
    ///
    /// # Safety
    /// The promise of [`Frame::take`] holds.
    unsafe fn of(array: Array, columns: &[(String, Kind)]) -> Result<Self, FrameError> {
        let (Ok(rows), Ok(offset)) = (usize::try_from(array.length), usize::try_from(array.offset)) else {
            return Err(malformed("a length or an offset is below zero"));
        };
        if usize::try_from(array.n_children) != Ok(columns.len()) {
            return Err(malformed("a chunk has another number of columns than the schema"));
        }
        // SAFETY: the caller's promise.
        let children = unsafe { items(array.children, array.n_children) };
        let children = children.ok_or_else(|| malformed("the columns of a chunk are not there"))?;
        // SAFETY: the caller's promise, here and below.
        let buffers = unsafe { items(array.buffers, array.n_buffers) }.unwrap_or_default();
        let says_where = buffers.first().is_some_and(|valid| !valid.is_null());
        if array.null_count > 0 || (array.null_count < 0 && says_where) {
            return Err(malformed("whole rows are null"));
        }
        let of = |(&child, (name, kind)): (&*mut Array, &(String, Kind))| {
            // SAFETY: a pointer to an array that lives as long as this one, or null.
            let column = unsafe { child.as_ref() }.ok_or("it is not there");
            let column = column.and_then(|child| unsafe { Column::of(child, *kind, offset, rows) });
            column.map_err(|reason| FrameError::Malformed { place: format!("column `{name}`"), reason })
        };
        let columns = children.iter().zip(columns).map(of).collect::<Result<_, _>>()?;
        Ok(Self { rows, columns, _array: array })
    }
}

/// Names and kinds of the columns of a table.
///
/// # Safety
/// The promise of [`Frame::take`] holds.
unsafe fn columns(schema: &Schema) -> Result<Vec<(String, Kind)>, FrameError> {
    // SAFETY: the caller's promise, here and below.
    if unsafe { text(schema.format) } != Some(c"+s") {
        return Err(malformed("it is no table"));
    }
    let children =
        unsafe { items(schema.children, schema.n_children) }.ok_or_else(|| malformed("it has no columns"))?;
    let of = |&child: &*mut Schema| {
        let child = unsafe { child.as_ref() }.ok_or_else(|| malformed("a column of the schema is not there"))?;
        let [format, name] = [child.format, child.name].map(|field| unsafe { text(field) });
        let column = name.unwrap_or_default().to_string_lossy().into_owned();
        let kind = format.filter(|_| child.dictionary.is_null()).and_then(Kind::of);
        match kind {
            Some(kind) => Ok((column, kind)),
            None => Err(FrameError::Type { column, format: format.unwrap_or_default().to_string_lossy().into_owned() }),
        }
    };
    children.iter().map(of).collect()
}

fn malformed(reason: &'static str) -> FrameError {
    FrameError::Malformed { place: "the frame".to_owned(), reason }
}

fn told(code: i32, stream: &mut Stream) -> Result<(), FrameError> {
    if code == 0 { Ok(()) } else { Err(FrameError::Refused { code, reason: stream.last_error() }) }
}
