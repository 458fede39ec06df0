//! Frames as Parquet files, encoded without the interpreter.

use std::num::NonZeroUsize;
use std::sync::Arc;

use ::parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{Type, TypePtr};
use anabranch_arrow::{Frame, Kind, Part};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Encodes frames, each as a file with row groups of `group_rows` rows.
///
/// Minima and maxima of columns show which groups can be skipped; a file of one group has none.
#[pyfunction]
fn parquet_files<'py>(
    py: Python<'py>,
    frames: Vec<Bound<'py, PyAny>>,
    group_rows: NonZeroUsize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let frames = frames.iter().map(crate::arrow::taken).collect::<PyResult<Vec<_>>>()?;
    let encode = move || frames.iter().map(|frame| encoded(frame, group_rows.get())).collect::<Result<Vec<_>>>();
    let files = py.detach(encode).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(files.iter().map(|file| PyBytes::new(py, file)).collect())
}

fn encoded(frame: &Frame, group_rows: usize) -> Result<Vec<u8>> {
    let groups = groups(frame.chunk_rows(), group_rows);
    let mut file = SerializedFileWriter::new(Vec::new(), schema(frame)?, Arc::new(properties(frame, groups.len())))?;
    for group in groups {
        let mut columns = file.next_row_group()?;
        for (i, (_, kind)) in frame.columns.iter().enumerate() {
            let mut column = columns.next_column()?.expect("the schema has all columns");
            for &(chunk, first, rows) in &group {
                let part = frame.part(i, chunk, first..first + rows);
                let valid = part.valid();
                let valid = valid.as_deref();
                match kind {
                    Kind::Float64 => write::<DoubleType>(&mut column, part.numbers(), valid)?,
                    Kind::Int64 | Kind::Uint64 => write::<Int64Type>(&mut column, part.numbers(), valid)?,
                    Kind::Uint32 => write::<Int32Type>(&mut column, part.numbers(), valid)?,
                    Kind::Text => write::<ByteArrayType>(&mut column, &texts(&part, rows, valid)?, valid)?,
                }
            }
            column.close()?;
        }
        columns.close()?;
    }
    file.into_inner()
}

/// The encoding of a file: only texts are likely to repeat, so only they have a dictionary.
fn properties(frame: &Frame, groups: usize) -> WriterProperties {
    let statistics = if groups > 1 { EnabledStatistics::Chunk } else { EnabledStatistics::None };
    let texts = frame.columns.iter().filter(|(_, kind)| *kind == Kind::Text);
    let all = WriterProperties::builder()
        .set_created_by("anabranch".to_owned())
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(true);
    texts.fold(all, |all, (name, _)| all.set_column_dictionary_enabled(name.as_str().into(), true)).build()
}

/// The row groups: for each, the chunks with their first rows and numbers of rows.
fn groups(chunk_rows: impl Iterator<Item = usize>, group_rows: usize) -> Vec<Vec<(usize, usize, usize)>> {
    let mut groups: Vec<Vec<_>> = Vec::new();
    let mut room = 0;
    for (chunk, rows) in chunk_rows.enumerate() {
        let mut first = 0;
        while first < rows {
            if room == 0 {
                groups.push(Vec::new());
                room = group_rows;
            }
            let taken = room.min(rows - first);
            groups.last_mut().expect("one has room").push((chunk, first, taken));
            first += taken;
            room -= taken;
        }
    }
    groups
}

fn schema(frame: &Frame) -> Result<TypePtr> {
    let fields = frame.columns.iter().map(|(name, kind)| {
        let (physical, converted) = match kind {
            Kind::Float64 => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Int64 => (Physical::INT64, ConvertedType::NONE),
            Kind::Uint64 => (Physical::INT64, ConvertedType::UINT_64),
            Kind::Uint32 => (Physical::INT32, ConvertedType::UINT_32),
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        Ok(Arc::new(field.with_converted_type(converted).build()?))
    });
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields.collect::<Result<_>>()?).build()?))
}

/// Writes the values that are not null, and their positions.
fn write<T: DataType>(column: &mut SerializedColumnWriter<'_>, values: &[T::T], valid: Option<&[bool]>) -> Result<()> {
    let column = column.typed::<T>();
    match valid {
        None => column.write_batch(values, Some(&vec![1; values.len()]), None)?,
        Some(valid) => {
            let present: Vec<_> =
                values.iter().zip(valid).filter(|(_, valid)| **valid).map(|(v, _)| v.clone()).collect();
            let levels: Vec<_> = valid.iter().map(|&valid| i16::from(valid)).collect();
            column.write_batch(&present, Some(&levels), None)?
        }
    };
    Ok(())
}

/// Copies all texts together, which is faster than one by one; those of nulls are empty.
///
/// # Errors
/// Returns an error if a text lies outside of its column.
fn texts(part: &Part<'_>, rows: usize, valid: Option<&[bool]>) -> Result<Vec<ByteArray>> {
    let texts = part.texts();
    let mut all = Vec::new();
    let mut lengths = Vec::with_capacity(rows);
    for row in 0..rows {
        let is_there = valid.is_none_or(|valid| valid[row]);
        let text = if is_there { texts.get(row) } else { Some(&[][..]) };
        let text = text.ok_or_else(|| ParquetError::General("a text lies outside of its column".to_owned()))?;
        all.extend_from_slice(text);
        lengths.push(text.len());
    }
    let all = ByteArray::from(all);
    let mut start = 0;
    let slice = |length| {
        start += length;
        all.slice(start - length, length)
    };
    Ok(lengths.into_iter().map(slice).collect())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parquet_files, module)?)
}
