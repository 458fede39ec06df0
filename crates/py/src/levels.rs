//! Max-min fair rates over several paths, their levels and certificate.

use anabranch_fair::{Allocator, GlobalMaxMin, Level, LevelCertificate, Levelled, certify_levels as certify};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::certificates::checked_getters;
use crate::fair::PyProblem;
use crate::network::value_error;

/// The solver, which runs event by event until it is finished.
#[pyclass(name = "GlobalMaxMin", module = "anabranch._core")]
pub struct PyGlobalMaxMin(Option<GlobalMaxMin>);

impl PyGlobalMaxMin {
    fn at_work(&self) -> PyResult<&GlobalMaxMin> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("the solver is finished; start another"))
    }
}

#[pymethods]
impl PyGlobalMaxMin {
    /// Processes at most `most` more events; returns whether all rates are found.
    fn run(&mut self, py: Python<'_>, most: usize) -> PyResult<bool> {
        self.at_work()?;
        let solver = self.0.as_mut().expect("it is at work");
        Ok(py.detach(|| solver.run(most)))
    }

    /// The sum of all deficits of paths and links below 0, relative to the sum of all demands.
    #[getter]
    fn lack(&self) -> PyResult<f64> {
        Ok(self.at_work()?.lack())
    }

    /// Number of exchanges of one path or link for another so far.
    #[getter]
    fn exchanges(&self) -> PyResult<usize> {
        Ok(self.at_work()?.exchanges())
    }

    /// The rates and their levels; ends the solver.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyLevelled> {
        self.at_work()?;
        let solver = self.0.take().expect("it is at work");
        Ok(PyLevelled(py.detach(|| solver.finish())))
    }
}

/// Max-min fair rates with their proof.
#[pyclass(frozen, name = "Levelled", module = "anabranch._core")]
pub struct PyLevelled(Levelled);

/// A level, its connections, its links and their prices.
type LevelArrays<'py> = (f64, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl PyLevelled {
    #[getter]
    fn path_rates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.path_rates.clone().into_pyarray(py)
    }

    #[getter]
    fn connection_rates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.connection_rates.clone().into_pyarray(py)
    }

    #[getter]
    fn exchanges(&self) -> usize {
        self.0.exchanges
    }

    #[getter]
    fn converged(&self) -> bool {
        self.0.converged
    }

    /// The levels from the lowest on, each with its height, the connections that it holds, links, and their prices.
    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> Vec<LevelArrays<'py>> {
        let arrays = |level: &Level| {
            let (links, prices): (Vec<u32>, Vec<f64>) = level.prices.iter().copied().unzip();
            let held = level.held.clone().into_pyarray(py);
            (level.level, held, links.into_pyarray(py), prices.into_pyarray(py))
        };
        self.0.levels.iter().map(arrays).collect()
    }
}

/// An allocator that keeps max-min fair rates up to date while the problem changes.
#[pyclass(name = "Allocator", module = "anabranch._core")]
pub struct PyAllocator(Allocator);

#[pymethods]
impl PyAllocator {
    #[new]
    fn new(py: Python<'_>, problem: &PyProblem) -> Self {
        Self(py.detach(|| Allocator::new(problem.shared())))
    }

    /// Changes over to another problem; this is fast if it has the same paths and other numbers.
    fn follow(&mut self, py: Python<'_>, problem: &PyProblem) {
        py.detach(|| self.0.follow(problem.shared()));
    }

    #[getter]
    fn connection_rates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.connection_rates().into_pyarray(py)
    }

    /// Number of exchanges of one path or link for another in the last change.
    #[getter]
    fn exchanges(&self) -> usize {
        self.0.exchanges()
    }

    /// Whether the rates are proved to a millionth.
    #[getter]
    fn is_proved(&self) -> bool {
        self.0.is_proved()
    }

    /// The rates, including those of paths, with their levels.
    fn levelled(&mut self, py: Python<'_>) -> PyLevelled {
        PyLevelled(py.detach(|| self.0.levelled()))
    }
}

/// The result of a check of rates and levels.
#[pyclass(frozen, name = "LevelCertificate", module = "anabranch._core")]
pub struct PyLevelCertificate(LevelCertificate);

#[pymethods]
impl PyLevelCertificate {
    fn __repr__(&self) -> String {
        let found = &self.0;
        let proof = if found.holds() { "holds" } else { "does NOT hold" };
        format!(
            "<LevelCertificate {proof}: overload {:.2e}, residual {:.3e}, tolerance {:e}>",
            found.overload, found.residual, found.tolerance
        )
    }

    #[getter]
    fn worst_connection(&self) -> Option<usize> {
        self.0.worst_connection
    }
}

checked_getters!(PyLevelCertificate);

/// Makes a solver of max-min fairness over several paths, ready for the first event.
#[pyfunction]
fn global_max_min(py: Python<'_>, problem: &PyProblem) -> PyGlobalMaxMin {
    PyGlobalMaxMin(Some(py.detach(|| GlobalMaxMin::new(problem.shared()))))
}

/// A level as Python passes it.
type GivenLevel<'py> = (f64, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>);

fn to_level((level, held, links, prices): &GivenLevel<'_>) -> PyResult<Level> {
    let (links, prices) = (links.as_slice()?, prices.as_slice()?);
    if links.len() != prices.len() {
        return Err(value_error(format!("{} prices for {} links; give one for each", prices.len(), links.len())));
    }
    let prices = links.iter().copied().zip(prices.iter().copied()).collect();
    Ok(Level { level: *level, held: held.as_slice()?.to_vec(), prices })
}

/// Checks path rates against the levels that should prove them.
#[pyfunction]
fn certify_levels(
    py: Python<'_>,
    problem: &PyProblem,
    path_rates: PyReadonlyArray1<'_, f64>,
    levels: Vec<GivenLevel<'_>>,
    tolerance: f64,
) -> PyResult<PyLevelCertificate> {
    problem.check(&path_rates)?;
    let (rates, problem) = (path_rates.as_slice()?, problem.shared());
    let levels = levels.iter().map(to_level).collect::<PyResult<Vec<Level>>>()?;
    Ok(PyLevelCertificate(py.detach(|| certify(problem, rates, &levels, tolerance))))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyGlobalMaxMin>()?;
    module.add_class::<PyAllocator>()?;
    module.add_class::<PyLevelled>()?;
    module.add_class::<PyLevelCertificate>()?;
    module.add_function(wrap_pyfunction!(global_max_min, module)?)?;
    module.add_function(wrap_pyfunction!(certify_levels, module)?)
}
