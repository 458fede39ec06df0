//! Getters that all certificates have: excesses over links and demands, and the result of the check.

/// Adds the getters that the classes of all certificates have.
macro_rules! checked_getters {
    ($certificate:ident) => {
        #[pyo3::pymethods]
        impl $certificate {
            #[getter]
            fn overload(&self) -> f64 {
                self.0.overload
            }

            #[getter]
            fn over_demand(&self) -> f64 {
                self.0.over_demand
            }

            #[getter]
            fn residual(&self) -> f64 {
                self.0.residual
            }

            #[getter]
            fn tolerance(&self) -> f64 {
                self.0.tolerance
            }

            #[getter]
            fn is_feasible(&self) -> bool {
                self.0.is_feasible()
            }

            #[getter]
            fn holds(&self) -> bool {
                self.0.holds()
            }
        }
    };
}

/// Adds the getters that the classes of certificates with bottlenecks of paths have.
macro_rules! path_getters {
    ($certificate:ident) => {
        #[pyo3::pymethods]
        impl $certificate {
            #[getter]
            fn overloaded_link(&self) -> Option<usize> {
                self.0.overloaded_link
            }

            #[getter]
            fn over_demand_connection(&self) -> Option<usize> {
                self.0.over_demand_connection
            }

            #[getter]
            fn bad_rate(&self) -> Option<usize> {
                self.0.bad_rate
            }
        }
    };
}

pub(crate) use {checked_getters, path_getters};
