//! Problems, solvers and certificates.

use std::sync::Arc;

use anabranch_fair::{
    Allocation, Bottleneck, CSlen, Changes, Iewf, Passes, Problem, ProblemParts, Start, Stop, certify, max_min,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::certificates::{checked_getters, path_getters};
use crate::network::value_error;

/// A checked, immutable problem.
#[pyclass(frozen, name = "Problem", module = "anabranch._core")]
pub struct PyProblem(Arc<Problem>);

#[pymethods]
impl PyProblem {
    #[new]
    fn new(
        py: Python<'_>,
        capacity: PyReadonlyArray1<'_, f64>,
        path_offsets: PyReadonlyArray1<'_, i64>,
        path_links: PyReadonlyArray1<'_, u32>,
        path_connection: PyReadonlyArray1<'_, u32>,
        demand: PyReadonlyArray1<'_, f64>,
        weight: PyReadonlyArray1<'_, f64>,
        coefficient: Option<PyReadonlyArray1<'_, f64>>,
        reserved: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let to_offset = |(at, &offset): (usize, &i64)| {
            usize::try_from(offset)
                .map_err(|_| value_error(format!("path_offsets[{at}] is {offset}; offsets must be 0 or more")))
        };
        let path_offsets = path_offsets.as_slice()?.iter().enumerate().map(to_offset).collect::<PyResult<_>>()?;
        let optional = |values: Option<PyReadonlyArray1<'_, f64>>| -> PyResult<Vec<f64>> {
            Ok(values.map_or(Ok(Vec::new()), |v| v.as_slice().map(<[f64]>::to_vec))?)
        };
        let parts = ProblemParts {
            capacity: capacity.as_slice()?.to_vec(),
            path_offsets,
            path_links: path_links.as_slice()?.to_vec(),
            path_connection: path_connection.as_slice()?.to_vec(),
            demand: demand.as_slice()?.to_vec(),
            weight: weight.as_slice()?.to_vec(),
            coefficient: optional(coefficient)?,
            reserved: optional(reserved)?,
        };
        Ok(Self(Arc::new(py.detach(|| Problem::new(parts)).map_err(value_error)?)))
    }

    /// A problem with these paths and other numbers; None keeps a number as it is.
    fn changed(
        &self,
        capacity: Option<PyReadonlyArray1<'_, f64>>,
        demand: Option<PyReadonlyArray1<'_, f64>>,
        weight: Option<PyReadonlyArray1<'_, f64>>,
        reserved: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let values = |given: Option<PyReadonlyArray1<'_, f64>>| -> PyResult<Option<Vec<f64>>> {
            Ok(given.map(|array| array.as_slice().map(<[f64]>::to_vec)).transpose()?)
        };
        let (capacity, demand) = (values(capacity)?, values(demand)?);
        let changes = Changes { capacity, demand, weight: values(weight)?, reserved: values(reserved)? };
        Ok(Self(Arc::new(self.0.changed(changes).map_err(value_error)?)))
    }

    #[getter]
    fn links(&self) -> usize {
        self.0.links()
    }

    #[getter]
    fn paths(&self) -> usize {
        self.0.paths()
    }

    #[getter]
    fn connections(&self) -> usize {
        self.0.connections()
    }

    /// The sum of the path rates of each connection.
    fn sum_by_connection<'py>(
        &self,
        py: Python<'py>,
        path_rates: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.check(&path_rates)?;
        let rates = path_rates.as_slice()?;
        Ok(py.detach(|| self.0.sum_by_connection(rates)).into_pyarray(py))
    }

    /// Max-min fair rates by progressive filling, with one path for each connection.
    fn max_min(&self, py: Python<'_>) -> PyResult<PyAllocation> {
        py.detach(|| max_min(&self.0)).map(PyAllocation).map_err(value_error)
    }

    /// Checks path rates against the definitions.
    fn certify(
        &self,
        py: Python<'_>,
        path_rates: PyReadonlyArray1<'_, f64>,
        tolerance: f64,
    ) -> PyResult<PyCertificate> {
        self.check(&path_rates)?;
        let rates = path_rates.as_slice()?;
        Ok(PyCertificate(py.detach(|| certify(&self.0, rates, tolerance))))
    }
}

impl PyProblem {
    /// The problem itself, for other modules.
    pub(crate) fn shared(&self) -> &Arc<Problem> {
        &self.0
    }

    /// Refuses an array of rates that does not have one rate for each path.
    pub(crate) fn check(&self, path_rates: &PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let (found, paths) = (path_rates.as_slice()?.len(), self.0.paths());
        if found == paths {
            Ok(())
        } else {
            Err(value_error(format!("{found} rates for {paths} paths; give one for each")))
        }
    }
}

/// The rates that a solver found.
#[pyclass(frozen, name = "Allocation", module = "anabranch._core")]
pub struct PyAllocation(Allocation);

#[pymethods]
impl PyAllocation {
    #[getter]
    fn path_rates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.path_rates.clone().into_pyarray(py)
    }

    #[getter]
    fn connection_rates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.connection_rates.clone().into_pyarray(py)
    }

    #[getter]
    fn passes(&self) -> usize {
        self.0.passes
    }

    #[getter]
    fn converged(&self) -> bool {
        self.0.converged
    }

    #[getter]
    fn residual(&self) -> f64 {
        self.0.residual
    }
}

/// The number of each bottleneck's link, -1 for a demand, -2 for none.
pub(crate) fn bottleneck_numbers(bottlenecks: &[Bottleneck]) -> Vec<i64> {
    let number = |b: &Bottleneck| match b {
        Bottleneck::Link(link) => i64::from(*link),
        Bottleneck::Demand => -1,
        Bottleneck::None => -2,
    };
    bottlenecks.iter().map(number).collect()
}

/// The result of a check.
#[pyclass(frozen, name = "Certificate", module = "anabranch._core")]
pub struct PyCertificate(anabranch_fair::Certificate);

#[pymethods]
impl PyCertificate {
    fn __repr__(&self) -> String {
        let found = &self.0;
        let proof = if found.holds() { "holds" } else { "does NOT hold" };
        format!(
            "<Certificate {proof}: overload {:.2e}, residual {:.3e}, tolerance {:e}>",
            found.overload, found.residual, found.tolerance
        )
    }

    #[getter]
    fn worst_path(&self) -> Option<usize> {
        self.0.worst_path
    }

    /// The number of each path's bottleneck, -1 if its demand is met, -2 if it has no bottleneck.
    #[getter]
    fn bottlenecks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        bottleneck_numbers(&self.0.bottlenecks).into_pyarray(py)
    }

    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.levels.clone().into_pyarray(py)
    }

    #[getter]
    fn loads<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.loads.clone().into_pyarray(py)
    }
}

checked_getters!(PyCertificate);
path_getters!(PyCertificate);

/// A start for iterative solvers: "equal", a ratio for geometric portions, or one portion for each path.
#[derive(FromPyObject)]
pub(crate) enum StartArgument<'py> {
    Name(String),
    Ratio(f64),
    Given(PyReadonlyArray1<'py, f64>),
}

impl StartArgument<'_> {
    pub(crate) fn into_start(self) -> PyResult<Start> {
        match self {
            Self::Name(name) if name == "equal" => Ok(Start::Equal),
            Self::Name(name) => Err(value_error(format!(
                "start is \"{name}\"; it must be \"equal\", a ratio between 0 and 1, or a portion for each path"
            ))),
            Self::Ratio(ratio) => Ok(Start::Geometric(ratio)),
            Self::Given(portions) => Ok(Start::Given(portions.as_slice()?.to_vec())),
        }
    }
}

/// The stop rule "certificate" with a relative tolerance, or "change" with a rate.
fn stop_rule(rule: &str, tolerance: f64) -> PyResult<Stop> {
    if !(tolerance > 0.0 && tolerance.is_finite()) {
        return Err(value_error(format!("tolerance is {tolerance}; it must be positive and finite")));
    }
    match rule {
        "certificate" => Ok(Stop::Certificate(tolerance)),
        "change" => Ok(Stop::Change(tolerance)),
        _ => Err(value_error(format!("stop is \"{rule}\"; it must be \"certificate\" or \"change\""))),
    }
}

/// Adds the methods that both iterative solvers have in Python.
macro_rules! passes {
    ($name:ident) => {
        #[pymethods]
        impl $name {
            /// Runs passes until the rule is met or there have been `most` in total; returns whether it was met.
            fn run(&mut self, py: Python<'_>, stop: &str, tolerance: f64, most: usize) -> PyResult<bool> {
                let stop = stop_rule(stop, tolerance)?;
                Ok(py.detach(|| self.0.run(stop, most)))
            }

            /// Makes one pass.
            fn advance(&mut self, py: Python<'_>) {
                py.detach(|| self.0.pass());
            }

            /// Whether the last pass met the rule.
            fn has_met(&self, py: Python<'_>, stop: &str, tolerance: f64) -> PyResult<bool> {
                let stop = stop_rule(stop, tolerance)?;
                Ok(py.detach(|| self.0.has_met(stop)))
            }

            #[getter]
            fn passes(&self) -> usize {
                self.0.passes()
            }

            /// The rates after the last pass.
            fn allocation(&self, py: Python<'_>, converged: bool, tolerance: f64) -> PyAllocation {
                PyAllocation(py.detach(|| self.0.allocation(converged, tolerance)))
            }
        }
    };
}

/// The c-SLEN solver, which runs pass by pass.
#[pyclass(name = "CSlen", module = "anabranch._core")]
pub struct PyCSlen(CSlen);

/// The IEWF solver, which runs pass by pass.
#[pyclass(name = "Iewf", module = "anabranch._core")]
pub struct PyIewf(Iewf);

passes!(PyCSlen);
passes!(PyIewf);

#[pymethods]
impl PyIewf {
    /// The growth of a connection of weight 1 in a step.
    #[getter]
    fn unit(&self) -> f64 {
        self.0.unit()
    }

    /// Number of steps in all passes.
    #[getter]
    fn steps(&self) -> usize {
        self.0.steps()
    }

    /// Whether the passes have used up their limit of work; a greater unit takes fewer steps.
    #[getter]
    fn is_spent(&self) -> bool {
        self.0.is_spent()
    }
}

/// Makes a c-SLEN solver for a problem, ready for the first pass.
#[pyfunction]
fn c_slen(py: Python<'_>, problem: &PyProblem, start: StartArgument<'_>) -> PyResult<PyCSlen> {
    let start = start.into_start()?;
    py.detach(|| CSlen::new(Arc::clone(&problem.0), &start)).map(PyCSlen).map_err(value_error)
}

/// Makes an IEWF solver for a problem, ready for the first pass; the default unit adds at most 5 % to a link.
#[pyfunction]
#[pyo3(signature = (problem, start, unit=None))]
fn iewf(py: Python<'_>, problem: &PyProblem, start: StartArgument<'_>, unit: Option<f64>) -> PyResult<PyIewf> {
    let start = start.into_start()?;
    let begin = || {
        let unit = unit.unwrap_or_else(|| Iewf::default_unit(&problem.0));
        Iewf::new(Arc::clone(&problem.0), &start, unit)
    };
    py.detach(begin).map(PyIewf).map_err(value_error)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyProblem>()?;
    module.add_class::<PyAllocation>()?;
    module.add_class::<PyCertificate>()?;
    module.add_class::<PyCSlen>()?;
    module.add_class::<PyIewf>()?;
    module.add_function(wrap_pyfunction!(c_slen, module)?)?;
    module.add_function(wrap_pyfunction!(iewf, module)?)
}
