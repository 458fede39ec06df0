//! Streams made here, right and wrong: what is right is read, what is wrong is refused, and all memory is freed.

use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use crate::interface::{Array, Schema, Stream};
use crate::{Frame, FrameError, Kind};

/// What a column is made of; a test may spoil any of it.
#[derive(Clone)]
struct Made {
    format: &'static str,
    length: i64,
    null_count: i64,
    offset: i64,
    buffers: Vec<Vec<u64>>,
    /// By so many bytes the values begin later than their buffer.
    shift: usize,
    /// These buffers are said to be, and are not there.
    missing: Vec<usize>,
}

/// The table that a stream gives: a chunk, with what it says of itself.
#[derive(Clone)]
struct Table {
    columns: Vec<Made>,
    length: i64,
    null_count: i64,
    n_children: i64,
    error: c_int,
}

/// What a release callback frees.
struct Owned<T> {
    texts: Vec<CString>,
    _buffers: Vec<Vec<u64>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut T>,
    alive: Rc<Cell<usize>>,
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.children.iter().for_each(|&child| drop(unsafe { Box::from_raw(child) }));
        self.alive.set(self.alive.get() - 1);
    }
}

/// What the stream itself keeps.
struct Source {
    table: Table,
    chunks: usize,
    alive: Rc<Cell<usize>>,
}

macro_rules! release {
    ($name:ident, $type:ty) => {
        unsafe extern "C" fn $name(item: *mut $type) {
            unsafe {
                (*item).release = None;
                drop(Box::from_raw((*item).private_data.cast::<Owned<$type>>()));
            }
        }
    };
}
release!(free_schema, Schema);
release!(free_array, Array);

fn owned<T>(texts: Vec<CString>, made: Option<&Made>, children: Vec<*mut T>, alive: &Rc<Cell<usize>>) -> *mut Owned<T> {
    alive.set(alive.get() + 1);
    let buffers = made.map(|made| made.buffers.clone()).unwrap_or_default();
    let start = |(i, buffer): (usize, &Vec<u64>)| {
        let made = made.expect("it has buffers");
        let shift = if i == 1 { made.shift } else { 0 };
        if made.missing.contains(&i) { ptr::null() } else { buffer.as_ptr().cast::<c_void>().wrapping_byte_add(shift) }
    };
    let pointers = buffers.iter().enumerate().map(start).collect();
    let alive = alive.clone();
    Box::into_raw(Box::new(Owned { texts, _buffers: buffers, pointers, children, alive }))
}

fn schema(format: &str, name: &str, children: Vec<*mut Schema>, alive: &Rc<Cell<usize>>) -> Schema {
    let texts = [format, name].map(|text| CString::new(text).unwrap());
    let own = unsafe { &mut *owned(texts.into(), None, children, alive) };
    let [format, name] = [own.texts[0].as_ptr(), own.texts[1].as_ptr()];
    let (n_children, children) = (own.children.len() as i64, own.children.as_mut_ptr());
    let mut schema = Schema::default();
    (schema.format, schema.name) = (format, name);
    (schema.n_children, schema.children) = (n_children, children);
    schema.release = Some(free_schema);
    schema.private_data = ptr::from_mut(own).cast();
    schema
}

fn array(made: &Made, alive: &Rc<Cell<usize>>) -> Array {
    let own = owned::<Array>(Vec::new(), Some(made), Vec::new(), alive);
    let pointers = unsafe { &(*own).pointers };
    let mut array = Array::default();
    (array.length, array.null_count, array.offset) = (made.length, made.null_count, made.offset);
    (array.n_buffers, array.buffers) = (pointers.len() as i64, pointers.as_ptr());
    array.release = Some(free_array);
    array.private_data = own.cast();
    array
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    let Source { table, alive, .. } = unsafe { &*(*stream).private_data.cast::<Source>() };
    let child =
        |(i, made): (usize, &Made)| Box::into_raw(Box::new(schema(made.format, &format!("c{i}"), Vec::new(), alive)));
    let children = table.columns.iter().enumerate().map(child).collect();
    unsafe { *out = schema("+s", "", children, alive) };
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    let Source { table, chunks, alive } = unsafe { &mut *(*stream).private_data.cast::<Source>() };
    if *chunks == 0 || table.error != 0 {
        return table.error;
    }
    *chunks -= 1;
    let children: Vec<_> = table.columns.iter().map(|made| Box::into_raw(Box::new(array(made, alive)))).collect();
    // Rows may be null only where a buffer says which.
    let validity = (table.null_count != 0).then(|| Made { buffers: vec![vec![0b1101]], ..numbers(&[]) });
    let own = owned(Vec::new(), validity.as_ref(), children, alive);
    let mut array = Array::default();
    (array.length, array.null_count, array.n_children) = (table.length, table.null_count, table.n_children);
    let pointers = unsafe { &(*own).pointers };
    (array.n_buffers, array.buffers) = (pointers.len() as i64, pointers.as_ptr());
    array.children = unsafe { (*own).children.as_mut_ptr() };
    array.release = Some(free_array);
    array.private_data = own.cast();
    unsafe { *out = array };
    0
}

/// Takes a table from a stream of two chunks, and makes sure that all is freed in the end.
fn taken<T>(table: Table, look: impl FnOnce(&Frame) -> T) -> Result<T, FrameError> {
    let alive = Rc::new(Cell::new(0));
    let mut source = Source { table, chunks: 2, alive: alive.clone() };
    let mut stream = Stream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: None,
        release: None,
        private_data: ptr::from_mut(&mut source).cast(),
    };
    let seen = unsafe { Frame::take(&mut stream) }.map(|frame| look(&frame));
    assert_eq!(alive.get(), 0, "all is freed");
    seen
}

/// Words of 8 bytes that hold these bytes.
fn words(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks(8)
        .map(|chunk| u64::from_ne_bytes(std::array::from_fn(|i| chunk.get(i).copied().unwrap_or(0))))
        .collect()
}

fn numbers(values: &[f64]) -> Made {
    let buffers = vec![vec![0b1101], values.iter().map(|value| value.to_bits()).collect()];
    Made { format: "g", length: values.len() as i64, null_count: 0, offset: 0, buffers, shift: 0, missing: vec![] }
}

/// The texts "short", "a text that is longer", "", and one that is null.
fn texts() -> Made {
    let long = "a text that is longer";
    let mut views = Vec::new();
    for (length, head) in
        [(5, "short\0\0\0\0\0\0\0"), (long.len(), "a te"), (0, "\0\0\0\0\0\0\0\0\0\0\0\0"), (99, "past")]
    {
        views.extend((length as u32).to_ne_bytes());
        views.extend(head.as_bytes());
        if head.len() == 4 {
            views.extend([0, 0, 0, 0, 3, 0, 0, 0]);
        }
    }
    let buffers =
        vec![vec![0b0111], words(&views), words(format!("...{long}").as_bytes()), vec![3 + long.len() as u64]];
    Made { format: "vu", length: 4, null_count: 1, offset: 0, buffers, shift: 0, missing: vec![] }
}

fn table(columns: Vec<Made>) -> Table {
    let n_children = columns.len() as i64;
    Table { columns, length: 4, null_count: 0, n_children, error: 0 }
}

/// The message with which a table is refused.
fn refused(table: Table) -> String {
    taken(table, |_| ()).expect_err("it is not as it should be").to_string()
}

#[test]
fn numbers_and_texts_are_read_where_they_lie() {
    let spoiled = Made { null_count: -1, ..numbers(&[1.0, 2.0, 3.0, 4.0]) };
    let seen = taken(table(vec![spoiled, texts()]), |frame| {
        assert_eq!(frame.columns, [("c0".to_owned(), Kind::Float64), ("c1".to_owned(), Kind::Text)]);
        assert_eq!(frame.chunk_rows().collect::<Vec<_>>(), [4, 4]);
        let part = frame.part(0, 1, 1..4);
        assert_eq!(part.numbers::<f64>(), [2.0, 3.0, 4.0]);
        assert_eq!(part.valid(), Some(vec![false, true, true]));
        let part = frame.part(1, 0, 0..4);
        assert_eq!(part.valid(), Some(vec![true, true, true, false]));
        let texts = part.texts();
        [0, 1, 2, 3].map(|row| texts.get(row).map(|text| String::from_utf8_lossy(text).into_owned()))
    });
    let [short, long, empty, null] = seen.unwrap();
    assert_eq!([short, long, empty].map(Option::unwrap), ["short", "a text that is longer", ""]);
    assert_eq!(null, None, "its view leads out of the column");
}

#[test]
fn an_offset_counts_from_the_beginning_of_the_buffer() {
    let made = Made { offset: 2, length: 4, null_count: 2, ..numbers(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]) };
    let seen = taken(table(vec![made]), |frame| {
        let part = frame.part(0, 0, 0..4);
        (part.numbers::<f64>().to_vec(), part.valid())
    });
    // Bits 0b1101 from the third on: 1, 1, 0, 0.
    assert_eq!(seen.unwrap(), (vec![2.0, 3.0, 4.0, 5.0], Some(vec![true, true, false, false])));
}

#[test]
fn columns_without_rows_need_no_buffers() {
    let made = Made { length: 0, missing: vec![0, 1], ..numbers(&[]) };
    let text = Made { length: 0, null_count: 0, missing: vec![0, 1, 2, 3], ..texts() };
    let empty = Table { length: 0, ..table(vec![made, text]) };
    let seen = taken(empty, |frame| {
        assert_eq!(frame.part(0, 0, 0..0).numbers::<f64>(), []);
        frame.part(1, 1, 0..0).valid()
    });
    assert_eq!(seen, Ok(None));
}

#[test]
fn a_frame_that_says_what_cannot_be_is_refused() {
    let four = || numbers(&[1.0, 2.0, 3.0, 4.0]);
    let one = |made: Made| table(vec![made]);
    for (spoiled, words) in [
        (one(Made { length: 3, ..four() }), "column `c0` is not as"),
        (one(Made { length: -1, ..four() }), "below zero"),
        (one(Made { offset: -1, ..four() }), "below zero"),
        (one(Made { offset: i64::MAX, ..four() }), "more rows than memory"),
        (one(Made { length: i64::MAX / 4, ..four() }), "more rows than memory"),
        (one(Made { null_count: 5, ..four() }), "number of nulls"),
        (one(Made { null_count: -2, ..four() }), "number of nulls"),
        (one(Made { null_count: 1, missing: vec![0], ..four() }), "does not say where"),
        (one(Made { missing: vec![1], ..four() }), "its values are not there"),
        (one(Made { shift: 4, ..four() }), "do not begin where a processor reads"),
        (one(Made { buffers: vec![vec![0]], ..four() }), "the buffers of its type"),
        (one(Made { buffers: vec![], ..four() }), "the buffers of its type"),
        (one(Made { format: "vu", ..four() }), "the buffers of its type"),
        (one(Made { missing: vec![3], ..texts() }), "lengths of its texts are not there"),
        (one(Made { missing: vec![2], ..texts() }), "the texts are not there"),
        (one(Made { format: "tdD", ..four() }), "no results have the Arrow type tdD"),
        (Table { length: -4, ..one(four()) }, "below zero"),
        (Table { length: 5, ..one(four()) }, "fewer rows than its chunk"),
        (Table { null_count: 1, ..one(four()) }, "whole rows are null"),
        (Table { null_count: -1, ..one(four()) }, "whole rows are null"),
        (Table { n_children: 2, ..one(four()) }, "another number of columns"),
        (Table { n_children: -1, ..one(four()) }, "another number of columns"),
        (Table { error: 5, ..one(four()) }, "error 5"),
    ] {
        let message = refused(spoiled);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_stream_without_its_functions_is_refused() {
    let none =
        Stream { get_schema: None, get_next: None, get_last_error: None, release: None, private_data: ptr::null_mut() };
    let mut stream = none;
    let error = unsafe { Frame::take(&mut stream) }.err().expect("it tells nothing").to_string();
    assert!(error.contains("does not tell its schema"), "{error}");
}

#[test]
#[should_panic(expected = "numbers of the column's kind")]
fn numbers_of_other_bits_are_a_mistake_of_the_caller() {
    let _ = taken(table(vec![numbers(&[1.0, 2.0, 3.0, 4.0])]), |frame| frame.part(0, 0, 0..1).numbers::<i32>()[0]);
}
