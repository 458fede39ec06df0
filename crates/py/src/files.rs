//! Files written together, so that a thread waits for the interpreter once and not for each file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

/// Writes a new folder with these files to `aside`, then renames it to `place`.
///
/// Returns whether `place` did not exist; otherwise, and after an error, it removes `aside`.
#[pyfunction]
fn put_folder(
    py: Python<'_>,
    aside: PathBuf,
    place: PathBuf,
    files: Vec<(PyBackedStr, PyBackedBytes)>,
) -> PyResult<bool> {
    let done = py.detach(|| {
        let done = put(&aside, &place, &files);
        if !matches!(done, Ok(true)) {
            // The folder may not exist, and only the error below matters.
            let _ = fs::remove_dir_all(&aside);
        }
        done
    });
    Ok(done?)
}

fn put(aside: &Path, place: &Path, files: &[(PyBackedStr, PyBackedBytes)]) -> io::Result<bool> {
    fs::create_dir(aside)?;
    for (name, content) in files {
        fs::write(aside.join(&**name), content)?;
    }
    match fs::rename(aside, place) {
        // Another process made the same folder at the same time.
        Err(_) if place.is_dir() => Ok(false),
        done => done.map(|()| true),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(put_folder, module)?)
}
