//! Water-fillers: approximate max-min fair rates.

use std::sync::Arc;

use anabranch_fair::{AdaptiveWaterFiller, approximate_water_filler, water_filling};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::fair::{PyProblem, StartArgument};
use crate::network::value_error;

/// The adaptive water-filler, which runs pass by pass.
#[pyclass(name = "AdaptiveWaterFiller", module = "anabranch._core")]
pub struct PyAdaptiveWaterFiller(AdaptiveWaterFiller);

#[pymethods]
impl PyAdaptiveWaterFiller {
    /// Makes one pass.
    fn advance(&mut self, py: Python<'_>) {
        py.detach(|| self.0.pass());
    }

    #[getter]
    fn passes(&self) -> usize {
        self.0.passes()
    }

    /// Whether more passes would change nothing.
    #[getter]
    fn has_met_all(&self) -> bool {
        self.0.has_met_all()
    }

    /// The rates of paths after the last pass; no link is overloaded.
    #[getter]
    fn path_rates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        py.detach(|| self.0.path_rates()).into_pyarray(py)
    }
}

/// Makes an adaptive water-filler for a problem, ready for the first pass.
#[pyfunction]
fn adaptive_water_filler(
    py: Python<'_>,
    problem: &PyProblem,
    start: StartArgument<'_>,
) -> PyResult<PyAdaptiveWaterFiller> {
    let start = start.into_start()?;
    let begin = || AdaptiveWaterFiller::new(Arc::clone(problem.shared()), &start);
    py.detach(begin).map(PyAdaptiveWaterFiller).map_err(value_error)
}

/// Path rates after one pass over the links.
#[pyfunction(name = "approximate_water_filler")]
fn one_pass<'py>(py: Python<'py>, problem: &PyProblem) -> Bound<'py, PyArray1<f64>> {
    py.detach(|| approximate_water_filler(problem.shared())).into_pyarray(py)
}

/// Max-min fair rates of subflows, each treated as a separate connection.
#[pyfunction(name = "water_filling")]
fn filled<'py>(py: Python<'py>, problem: &PyProblem) -> Bound<'py, PyArray1<f64>> {
    py.detach(|| water_filling(problem.shared())).into_pyarray(py)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyAdaptiveWaterFiller>()?;
    module.add_function(wrap_pyfunction!(adaptive_water_filler, module)?)?;
    module.add_function(wrap_pyfunction!(one_pass, module)?)?;
    module.add_function(wrap_pyfunction!(filled, module)?)
}
