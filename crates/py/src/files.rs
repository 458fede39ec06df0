//! Files written in one go, so that a thread waits for the interpreter once and not for each file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

/// Writes a new folder with these files to `aside`, then gives it the name `place`.
///
/// Tells whether there was nothing of that name; else, as after an error, nothing is left aside.
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
            // It may never have been made, and what matters is told below.
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
        // The same folder, made by two at the same time.
        Err(_) if place.is_dir() => Ok(false),
        done => done.map(|()| true),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(put_folder, module)?)
}
