//! A column of numbers or texts, with its null values.

use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::slice;

use crate::interface::{Array, items};

/// The type of the values in a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Float64,
    Int64,
    Uint64,
    Uint32,
    Text,
}

/// A view of a text: its length, followed by the text itself, or by its beginning, the number of its buffer and its
/// offset.
type View = [u32; 4];

/// Greatest length of a text that is stored in its view, in bytes.
const SHORT: usize = 12;

/// The checked rows of a column in one chunk.
pub(crate) struct Column {
    kind: Kind,
    offset: usize,
    rows: usize,
    valid: Option<*const u8>,
    /// The values; null only if there are no rows.
    values: *const c_void,
    /// The buffers of texts that are longer than their view, each with its size in bytes.
    texts: Vec<(*const u8, usize)>,
}

/// The part of a column in one chunk of its frame.
pub struct Part<'a> {
    column: &'a Column,
    rows: Range<usize>,
}

/// The texts of a range of rows.
pub struct Texts<'a> {
    views: &'a [View],
    buffers: Vec<&'a [u8]>,
}

impl Kind {
    /// The kind with this format string of the interface; `None` if results do not use it.
    pub(crate) fn of(format: &CStr) -> Option<Self> {
        match format.to_bytes() {
            b"g" => Some(Self::Float64),
            b"l" => Some(Self::Int64),
            b"L" => Some(Self::Uint64),
            b"I" => Some(Self::Uint32),
            b"vu" => Some(Self::Text),
            _ => None,
        }
    }

    /// Size and alignment of a value, in bytes.
    fn layout(self) -> (usize, usize) {
        match self {
            Self::Float64 | Self::Int64 | Self::Uint64 => (8, align_of::<u64>()),
            Self::Uint32 => (4, align_of::<u32>()),
            Self::Text => (size_of::<View>(), align_of::<View>()),
        }
    }
}

impl Column {
    /// Checks an array, of which `rows` rows from `first` on belong to a chunk.
    ///
    /// # Safety
    /// Every pointer that is not null leads to as many bytes as the counts beside it say, while the array lives.
    pub(crate) unsafe fn of(array: &Array, kind: Kind, first: usize, rows: usize) -> Result<Self, &'static str> {
        let (Ok(length), Ok(own)) = (usize::try_from(array.length), usize::try_from(array.offset)) else {
            return Err("a length or an offset is below zero");
        };
        if first.checked_add(rows).is_none_or(|end| end > length) {
            return Err("it has fewer rows than its chunk");
        }
        let (bytes, align) = kind.layout();
        let all = own.checked_add(length).and_then(|values| values.checked_mul(bytes));
        if all.is_none_or(|all| isize::try_from(all).is_err()) {
            return Err("it has more rows than memory has bytes");
        }
        if !(-1..=array.length).contains(&array.null_count) {
            return Err("its number of nulls is none");
        }
        let has_its_buffers = if kind == Kind::Text { array.n_buffers >= 3 } else { array.n_buffers == 2 };
        if !has_its_buffers {
            return Err("it does not have the buffers of its type");
        }
        // SAFETY: the caller's promise, here and below.
        let buffers = unsafe { items(array.buffers, array.n_buffers) }.ok_or("its buffers are not there")?;
        let values = buffers[1];
        if rows > 0 && values.is_null() {
            return Err("its values are not there");
        }
        if values.addr() % align != 0 {
            return Err("its values do not begin where a processor reads them at once");
        }
        let valid = Some(buffers[0].cast::<u8>()).filter(|valid| array.null_count != 0 && !valid.is_null());
        if valid.is_none() && array.null_count > 0 {
            return Err("it has nulls and does not say where");
        }
        let texts = if kind == Kind::Text && rows > 0 { unsafe { texts(&buffers[2..]) }? } else { Vec::new() };
        Ok(Self { kind, offset: own + first, rows, valid, values, texts })
    }

    pub(crate) fn part(&self, rows: Range<usize>) -> Part<'_> {
        assert!(rows.end <= self.rows, "the column has these rows");
        Part { column: self, rows: self.offset + rows.start..self.offset + rows.end }
    }
}

/// The buffers of texts; the last buffer of the array has the lengths of the others.
///
/// # Safety
/// The promise of [`Column::of`] holds.
unsafe fn texts(buffers: &[*const c_void]) -> Result<Vec<(*const u8, usize)>, &'static str> {
    let [texts @ .., lengths] = buffers else { return Err("it does not have the buffers of its type") };
    // SAFETY: the caller's promise.
    let lengths = unsafe { items(lengths.cast::<i64>(), texts.len() as i64) };
    let lengths = lengths.ok_or("the lengths of its texts are not there, or not where a processor reads them")?;
    let of = |(&start, &length): (&*const c_void, &i64)| match usize::try_from(length) {
        Ok(length) if length == 0 || (!start.is_null() && isize::try_from(length).is_ok()) => {
            Ok((start.cast(), length))
        }
        _ => Err("a length of its texts is below zero, or the texts are not there"),
    };
    texts.iter().zip(lengths).map(of).collect()
}

impl<'a> Part<'a> {
    /// Whether each row has a value; `None` if all have.
    pub fn valid(&self) -> Option<Vec<bool>> {
        let bits = self.column.valid.filter(|_| !self.rows.is_empty())?;
        // SAFETY: it has a bit for each row, the lowest of each byte first.
        let bytes = unsafe { slice::from_raw_parts(bits, self.rows.end.div_ceil(8)) };
        Some(self.rows.clone().map(|at| bytes[at / 8] >> (at % 8) & 1 == 1).collect())
    }

    /// The numbers of the column, with an arbitrary one for each null. Each has as many bits as a `T`.
    ///
    /// # Panics
    /// If a number of the column has another size.
    pub fn numbers<T: Number>(&self) -> &'a [T] {
        assert_eq!((size_of::<T>(), align_of::<T>()), self.column.kind.layout(), "numbers of the column's kind");
        if self.rows.is_empty() {
            return &[];
        }
        // SAFETY: values of this size begin there for all rows, which were counted, and any bits are a number.
        unsafe { slice::from_raw_parts(self.column.values.cast::<T>().add(self.rows.start), self.rows.len()) }
    }

    /// The texts of the column, with an arbitrary one for each null.
    ///
    /// # Panics
    /// If the column has no texts.
    pub fn texts(&self) -> Texts<'a> {
        assert_eq!(self.column.kind, Kind::Text, "a column of texts");
        // SAFETY: a buffer that has bytes begins at its pointer.
        let buffer = |&(start, length): &(*const u8, usize)| match length {
            0 => &[],
            _ => unsafe { slice::from_raw_parts(start, length) },
        };
        Texts { views: self.numbers(), buffers: self.column.texts.iter().map(buffer).collect() }
    }
}

impl<'a> Texts<'a> {
    /// The bytes of the text in a row that has a value; `None` if its view leads out of the column.
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        let view = &self.views[row];
        let length = view[0] as usize;
        if length <= SHORT {
            // SAFETY: a view has four bytes of length, and twelve of text.
            let bytes = unsafe { slice::from_raw_parts(view[1..].as_ptr().cast::<u8>(), SHORT) };
            return Some(&bytes[..length]);
        }
        let start = view[3] as usize;
        self.buffers.get(view[2] as usize)?.get(start..start.checked_add(length)?)
    }
}

/// A type of values in a column.
///
/// # Safety
/// Any bits are a value of the type.
pub unsafe trait Number: Copy {}
// SAFETY: any bits are a number, here and below.
unsafe impl Number for f64 {}
unsafe impl Number for i64 {}
unsafe impl Number for i32 {}
unsafe impl Number for View {}
