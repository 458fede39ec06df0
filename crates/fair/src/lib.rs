//! Solvers for fair rates: pure functions from a [`Problem`] to an [`Allocation`].
//!
//! Solvers work on plain `f64` in the unit of the capacities given. [`certify()`] checks any allocation against the
//! definitions alone and shares no code with the solvers.

mod allocation;
mod incidence;

pub mod certify;
pub mod certify_levels;
pub mod certify_prices;
pub mod global_max_min;
pub mod iewf;
pub mod max_min;
pub mod passes;
pub mod problem;
pub mod proportional;
pub mod start;
#[cfg(test)]
mod testing;
pub mod upward;
pub mod water_filler;
pub mod water_filling;
pub mod weights;

pub use allocation::Allocation;
pub use certify::{Bottleneck, Certificate, certify};
pub use certify_levels::{LevelCertificate, certify_levels};
pub use certify_prices::{PriceCertificate, Worst, certify_prices};
pub use global_max_min::{Allocator, GlobalMaxMin, Level, Levelled, global_max_min};
pub use iewf::{Iewf, UnitError};
pub use max_min::{MultipathError, max_min};
pub use passes::{Passes, Stop};
pub use problem::{Changes, Problem, ProblemError, ProblemParts};
pub use proportional::{Priced, UtilityError, alpha_fair};
pub use start::{Start, StartError};
pub use upward::CSlen;
pub use water_filler::{AdaptiveWaterFiller, approximate_water_filler};
pub use water_filling::water_filling;
pub use weights::{Steps, Trace, WeightAdjustment, WeightAllocation, WeightError};
