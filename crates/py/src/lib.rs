//! The Python module `anabranch._core`, which converts arguments, calls the crates and converts results, without logic.

// Python passes arguments by value, and a table has many columns.
#![allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]

use pyo3::prelude::*;

#[cfg(feature = "live")]
mod agent;
mod arrow;
#[cfg(feature = "live")]
mod asking;
mod certificates;
mod columns;
#[cfg(target_os = "linux")]
mod emulate;
mod fair;
mod files;
mod filters;
mod generate;
mod levels;
#[cfg(feature = "live")]
mod live;
#[cfg(all(feature = "live", target_os = "linux"))]
mod live_run;
mod memory;
mod network;
mod parquet;
mod paths;
#[cfg(feature = "live")]
mod proxy;
#[cfg(feature = "live")]
mod qlog;
mod scenario;
mod simulate;
mod toml;
mod topology_manager;
#[cfg(feature = "live")]
mod transfer;
mod utility;
mod watch;
mod water;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    network::register(module)?;
    columns::register(module)?;
    fair::register(module)?;
    levels::register(module)?;
    utility::register(module)?;
    water::register(module)?;
    paths::register(module)?;
    filters::register(module)?;
    topology_manager::register(module)?;
    scenario::register(module)?;
    generate::register(module)?;
    simulate::register(module)?;
    #[cfg(target_os = "linux")]
    emulate::register(module)?;
    #[cfg(feature = "live")]
    agent::register(module)?;
    #[cfg(feature = "live")]
    asking::register(module)?;
    #[cfg(feature = "live")]
    live::register(module)?;
    #[cfg(all(feature = "live", target_os = "linux"))]
    live_run::register(module)?;
    #[cfg(feature = "live")]
    proxy::register(module)?;
    #[cfg(feature = "live")]
    qlog::register(module)?;
    files::register(module)?;
    memory::register(module)?;
    toml::register(module)?;
    parquet::register(module)?;
    #[cfg(feature = "live")]
    transfer::register(module)?;
    module.add("HAS_LIVE", cfg!(feature = "live"))?;
    // A digest of the code that determines the results of simulated runs.
    module.add("SOURCES", env!("ANABRANCH_SOURCES"))
}
