//! Rates of the greatest utility, with prices and certificate; algorithms that shift weights.

use std::sync::Arc;

use anabranch_fair::{
    PriceCertificate, Priced, Problem, Steps, Trace, WeightAdjustment, WeightAllocation, Worst, alpha_fair,
    certify_prices,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::certificates::{checked_getters, path_getters};
use crate::fair::{PyProblem, bottleneck_numbers};
use crate::network::value_error;

type Floats<'py> = Bound<'py, PyArray1<f64>>;

fn floats<'py>(py: Python<'py>, values: &[f64]) -> Floats<'py> {
    values.to_vec().into_pyarray(py)
}

/// The rates of the greatest utility and the prices of links.
#[pyclass(frozen, name = "Priced", module = "anabranch._core")]
pub struct PyPriced(Priced);

#[pymethods]
impl PyPriced {
    #[getter]
    fn path_rates<'py>(&self, py: Python<'py>) -> Floats<'py> {
        floats(py, &self.0.path_rates)
    }

    #[getter]
    fn connection_rates<'py>(&self, py: Python<'py>) -> Floats<'py> {
        floats(py, &self.0.connection_rates)
    }

    /// The price of each link for a unit of rate; infinite for capacity 0.
    #[getter]
    fn link_prices<'py>(&self, py: Python<'py>) -> Floats<'py> {
        floats(py, &self.0.link_prices)
    }

    #[getter]
    fn steps(&self) -> usize {
        self.0.steps
    }

    #[getter]
    fn converged(&self) -> bool {
        self.0.converged
    }
}

/// The result of a check of rates and prices.
#[pyclass(frozen, name = "PriceCertificate", module = "anabranch._core")]
pub struct PyPriceCertificate(PriceCertificate);

#[pymethods]
impl PyPriceCertificate {
    fn __repr__(&self) -> String {
        let found = &self.0;
        let proof = if found.holds() { "holds" } else { "does NOT hold" };
        format!(
            "<PriceCertificate {proof}: overload {:.2e}, residual {:.3e}, gap {:.3e}, tolerance {:e}>",
            found.overload, found.residual, found.gap, found.tolerance
        )
    }

    #[getter]
    fn bad_price(&self) -> Option<usize> {
        self.0.bad_price
    }

    /// The place of the greatest residual: ("cheap" or "dear", path), ("idle", link), or None.
    #[getter]
    fn worst(&self) -> Option<(&'static str, usize)> {
        match self.0.worst {
            Worst::Nothing => None,
            Worst::Cheap(path) => Some(("cheap", path)),
            Worst::Dear(path) => Some(("dear", path)),
            Worst::Idle(link) => Some(("idle", link)),
        }
    }

    #[getter]
    fn gap(&self) -> f64 {
        self.0.gap
    }

    /// The number of the dearest link on each path, -1 if its demand is met, -2 if it has no bottleneck.
    #[getter]
    fn bottlenecks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        bottleneck_numbers(&self.0.bottlenecks).into_pyarray(py)
    }

    #[getter]
    fn path_prices<'py>(&self, py: Python<'py>) -> Floats<'py> {
        floats(py, &self.0.path_prices)
    }

    #[getter]
    fn marginal_utilities<'py>(&self, py: Python<'py>) -> Floats<'py> {
        floats(py, &self.0.marginal_utilities)
    }

    #[getter]
    fn levels<'py>(&self, py: Python<'py>) -> Floats<'py> {
        floats(py, &self.0.levels)
    }

    #[getter]
    fn loads<'py>(&self, py: Python<'py>) -> Floats<'py> {
        floats(py, &self.0.loads)
    }
}

checked_getters!(PyPriceCertificate);
path_getters!(PyPriceCertificate);

/// Computes weighted alpha-fair rates and prices; alpha 1 is proportional fairness.
#[pyfunction(name = "alpha_fair")]
fn solve_alpha_fair(py: Python<'_>, problem: &PyProblem, alpha: f64) -> PyResult<PyPriced> {
    py.detach(|| alpha_fair(problem.shared(), alpha)).map(PyPriced).map_err(value_error)
}

/// Checks rates and prices against the conditions of the greatest utility.
#[pyfunction(name = "certify_prices")]
fn check_prices(
    py: Python<'_>,
    problem: &PyProblem,
    alpha: f64,
    path_rates: PyReadonlyArray1<'_, f64>,
    link_prices: PyReadonlyArray1<'_, f64>,
    tolerance: f64,
) -> PyResult<PyPriceCertificate> {
    let (rates, prices, problem) = (path_rates.as_slice()?, link_prices.as_slice()?, problem.shared());
    for (name, found, wanted, per) in
        [("rates", rates.len(), problem.paths(), "paths"), ("prices", prices.len(), problem.links(), "links")]
    {
        if found != wanted {
            return Err(value_error(format!("{found} {name} for {wanted} {per}; give one for each")));
        }
    }
    Ok(PyPriceCertificate(py.detach(|| certify_prices(problem, alpha, rates, prices, tolerance))))
}

/// Adds the methods that both algorithms have.
macro_rules! trace {
    ($name:ident) => {
        #[pymethods]
        impl $name {
            /// Makes one step.
            fn advance(&mut self, py: Python<'_>) {
                let Self { algorithm, problem } = self;
                py.detach(|| algorithm.advance(problem));
            }

            /// Number of steps so far.
            #[getter]
            fn steps(&self) -> usize {
                self.trace().steps
            }

            /// The largest change of a weight in the last step; infinite before the first.
            #[getter]
            fn change(&self) -> f64 {
                self.trace().change
            }

            /// The rate of each path.
            #[getter]
            fn rates<'py>(&self, py: Python<'py>) -> Floats<'py> {
                floats(py, &self.trace().rates)
            }

            /// The part of its connection's weight that each path has in the next step.
            #[getter]
            fn weights<'py>(&self, py: Python<'py>) -> Floats<'py> {
                floats(py, &self.trace().weights)
            }

            /// The price of each path in the last step.
            #[getter]
            fn path_prices<'py>(&self, py: Python<'py>) -> Floats<'py> {
                floats(py, &self.trace().path_prices)
            }

            /// The price of each link in the last step.
            #[getter]
            fn link_prices<'py>(&self, py: Python<'py>) -> Floats<'py> {
                floats(py, &self.trace().link_prices)
            }
        }

        impl $name {
            fn trace(&self) -> &Trace {
                self.algorithm.trace()
            }
        }
    };
}

/// The algorithm in which rates follow prices, step by step.
#[pyclass(name = "WeightAdjustment", module = "anabranch._core")]
pub struct PyWeightAdjustment {
    algorithm: WeightAdjustment,
    problem: Arc<Problem>,
}

/// The algorithm in which weights follow rates, step by step.
#[pyclass(name = "WeightAllocation", module = "anabranch._core")]
pub struct PyWeightAllocation {
    algorithm: WeightAllocation,
    problem: Arc<Problem>,
}

trace!(PyWeightAdjustment);
trace!(PyWeightAllocation);

#[pymethods]
impl PyWeightAllocation {
    /// Makes steps until no weight changes by `least` or there have been `most` in total; returns whether weights
    /// stopped changing.
    fn run(&mut self, py: Python<'_>, least: f64, most: usize) -> PyResult<bool> {
        if least.is_nan() || least <= 0.0 {
            return Err(value_error(format!("least is {least}; it must be positive")));
        }
        let Self { algorithm, problem } = self;
        Ok(py.detach(|| algorithm.run(problem, least, most)))
    }

    /// Whether the rates of the last step were found exactly.
    #[getter]
    fn is_exact(&self) -> bool {
        self.algorithm.is_exact()
    }
}

/// Makes algorithm 1 of [cao2012], before its first step.
#[pyfunction]
#[pyo3(signature = (problem, rates, gamma, rise=1.0, floor=1e-6))]
fn weight_adjustment(
    problem: &PyProblem,
    rates: PyReadonlyArray1<'_, f64>,
    gamma: f64,
    rise: f64,
    floor: f64,
) -> PyResult<PyWeightAdjustment> {
    let problem = Arc::clone(problem.shared());
    let algorithm = WeightAdjustment::new(&problem, rates.as_slice()?.to_vec(), Steps { gamma, rise, floor });
    Ok(PyWeightAdjustment { algorithm: algorithm.map_err(value_error)?, problem })
}

/// Makes algorithm 2 of [cao2012], before its first step.
#[pyfunction]
#[pyo3(signature = (problem, weights, floor=1e-12))]
fn weight_allocation(
    problem: &PyProblem,
    weights: PyReadonlyArray1<'_, f64>,
    floor: f64,
) -> PyResult<PyWeightAllocation> {
    let problem = Arc::clone(problem.shared());
    let algorithm = WeightAllocation::new(&problem, weights.as_slice()?, floor);
    Ok(PyWeightAllocation { algorithm: algorithm.map_err(value_error)?, problem })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPriced>()?;
    module.add_class::<PyPriceCertificate>()?;
    module.add_class::<PyWeightAdjustment>()?;
    module.add_class::<PyWeightAllocation>()?;
    module.add_function(wrap_pyfunction!(solve_alpha_fair, module)?)?;
    module.add_function(wrap_pyfunction!(check_prices, module)?)?;
    module.add_function(wrap_pyfunction!(weight_adjustment, module)?)?;
    module.add_function(wrap_pyfunction!(weight_allocation, module)?)
}
