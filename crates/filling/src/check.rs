//! The checks of the arrays.

use thiserror::Error;

use crate::SinglePath;

/// Greatest finite amount; sums and quotients of greater ones might overflow.
pub const MOST: f64 = 1e100;

/// Amounts below this count as 0, since they cannot be divided without loss.
pub const LEAST: f64 = 1e-100;

/// Greatest weight or coefficient; the least is its inverse. Others are refused, since sums and quotients might
/// overflow.
pub const MOST_FACTOR: f64 = 1e30;

/// The reason why arrays cannot be filled.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum FillingError {
    #[error("offsets[{at}]: {why}; offsets must rise from 0 to the length of links ({entries})")]
    Offsets { at: usize, why: &'static str, entries: usize },
    #[error("connection {connection}: there is no link {link}; there are {links}, numbered from 0")]
    UnknownLink { connection: usize, link: u32, links: usize },
    #[error("{what} {index}: {quantity} is {value}; it must be {must}")]
    Value { what: &'static str, index: usize, quantity: &'static str, value: f64, must: &'static str },
    #[error("{name} has {found} values; it must have {wanted}, one for each {per}, or none")]
    Length { name: &'static str, found: usize, wanted: usize, per: &'static str },
    #[error(
        "connection {connection}: no link on its path has a finite capacity and it has no demand, so its rate would \
         be infinite; give it a demand or a link a capacity"
    )]
    Unlimited { connection: usize },
    #[error("{what}: {count} is more than 2^32 - 2; split the problem")]
    TooMany { what: &'static str, count: usize },
}

/// The amount with negligible values set to 0.
pub fn amount(given: f64) -> f64 {
    if given < LEAST { 0.0 } else { given }
}

/// Checks everything except the link numbers, which the index checks.
pub fn check(shared: &SinglePath<'_>) -> Result<(), FillingError> {
    check_offsets(shared.offsets, shared.links.len())?;
    let (connections, entries) = (shared.connections(), shared.links.len());
    for (what, count) in [("links", shared.capacity.len()), ("connections", connections), ("entries", entries)] {
        if count >= u32::MAX as usize {
            return Err(FillingError::TooMany { what, count });
        }
    }
    let lengths = [
        ("demand", shared.demand.len(), connections, "connection"),
        ("weight", shared.weight.len(), connections, "connection"),
        ("coefficient", shared.coefficient.len(), entries, "entry of links"),
    ];
    for (name, found, wanted, per) in lengths {
        if found != wanted && found != 0 {
            return Err(FillingError::Length { name, found, wanted, per });
        }
    }
    let is_amount = |v: f64| (0.0..=MOST).contains(&v) || v == f64::INFINITY;
    let is_factor = |v: f64| (1.0 / MOST_FACTOR..=MOST_FACTOR).contains(&v);
    check_values("link", "capacity", shared.capacity, "0 to 1e100, or infinite", is_amount)?;
    check_values("connection", "demand", shared.demand, "0 to 1e100, or infinite", is_amount)?;
    check_values("connection", "weight", shared.weight, "1e-30 to 1e30", is_factor)?;
    check_values("entry", "coefficient", shared.coefficient, "1e-30 to 1e30", is_factor)
}

fn check_offsets(offsets: &[usize], entries: usize) -> Result<(), FillingError> {
    let error = |at, why| Err(FillingError::Offsets { at, why, entries });
    let Some((&first, &last)) = offsets.first().zip(offsets.last()) else {
        return error(0, "it is missing");
    };
    if first != 0 {
        return error(0, "it is not 0");
    }
    if let Some(at) = offsets.windows(2).position(|w| w[0] > w[1]) {
        return error(at + 1, "it is less than the one before");
    }
    if last != entries {
        return error(offsets.len() - 1, "it is not the length of links");
    }
    Ok(())
}

fn check_values(
    what: &'static str,
    quantity: &'static str,
    values: &[f64],
    must: &'static str,
    good: impl Fn(f64) -> bool,
) -> Result<(), FillingError> {
    match values.iter().position(|&v| !good(v)) {
        Some(index) => Err(FillingError::Value { what, index, quantity, value: values[index], must }),
        None => Ok(()),
    }
}
