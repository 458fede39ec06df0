//! The programs that change the kernel, and what must hold before they do.

mod check;
mod kept;
mod programs;

pub(crate) use self::check::{Lock, check, leaf_of_kernel, left_overs};
pub(crate) use self::kept::{Guard, Kept};
pub(crate) use self::programs::{ask, run, run_all};
