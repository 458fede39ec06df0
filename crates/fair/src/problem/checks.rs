//! The checks of the arrays of a problem.

use std::sync::Arc;

use anabranch_filling::{LEAST, MOST, MOST_FACTOR};

use super::{ProblemError, ProblemParts};

/// The valid range of a factor, in words.
pub(super) const FACTOR: &str = "1e-30 to 1e30";

pub(super) fn is_factor(value: f64) -> bool {
    (1.0 / MOST_FACTOR..=MOST_FACTOR).contains(&value)
}

/// Checks the capacities of links and sets negligible ones to 0.
pub(super) fn capacities(values: Vec<f64>) -> Result<Arc<[f64]>, ProblemError> {
    amounts("link", "capacity", values)
}

/// Checks the demands of connections and sets negligible ones to 0.
pub(super) fn demands(values: Vec<f64>) -> Result<Arc<[f64]>, ProblemError> {
    amounts("connection", "demand", values)
}

/// Checks the weights of connections.
pub(super) fn weights(values: Vec<f64>) -> Result<Arc<[f64]>, ProblemError> {
    check_values("connection", "weight", &values, FACTOR, is_factor)?;
    Ok(values.into())
}

/// Checks the reserved parts of connections; none are left if all are negligible.
pub(super) fn reserved(mut values: Vec<f64>) -> Result<Arc<[f64]>, ProblemError> {
    check_values("connection", "reserved", &values, "0 to 1e100", |v| (0.0..=MOST).contains(&v))?;
    values.iter_mut().filter(|v| **v < LEAST).for_each(|v| *v = 0.0);
    let has_any = values.iter().any(|&v| v > 0.0);
    Ok(if has_any { values.into() } else { Arc::default() })
}

fn amounts(what: &'static str, quantity: &'static str, mut values: Vec<f64>) -> Result<Arc<[f64]>, ProblemError> {
    let is_amount = |v: f64| (0.0..=MOST).contains(&v) || v == f64::INFINITY;
    check_values(what, quantity, &values, "0 to 1e100, or infinite", is_amount)?;
    values.iter_mut().filter(|v| **v < LEAST).for_each(|v| *v = 0.0);
    Ok(values.into())
}

/// Returns the values if their number is right.
pub(super) fn same_length(
    name: &'static str,
    values: Vec<f64>,
    wanted: usize,
    per: &'static str,
) -> Result<Vec<f64>, ProblemError> {
    match values.len() {
        found if found == wanted => Ok(values),
        found => Err(ProblemError::Length { name, found, wanted, per }),
    }
}

pub(super) fn check_lengths(parts: &ProblemParts) -> Result<(), ProblemError> {
    let (paths, entries) = (parts.path_connection.len(), parts.path_links.len());
    if parts.path_offsets.len() != paths + 1 {
        return Err(ProblemError::OffsetCount { found: parts.path_offsets.len(), paths });
    }
    let lengths = [
        ("demand", parts.demand.len(), parts.weight.len(), "connection", false),
        ("reserved", parts.reserved.len(), parts.weight.len(), "connection", true),
        ("coefficient", parts.coefficient.len(), entries, "entry of path_links", true),
    ];
    for (name, found, wanted, per, may_be_empty) in lengths {
        if found != wanted && !(may_be_empty && found == 0) {
            return Err(ProblemError::Length { name, found, wanted, per });
        }
    }
    let counts =
        [("links", parts.capacity.len()), ("connections", parts.weight.len()), ("paths", paths), ("entries", entries)];
    for (what, count) in counts {
        if count >= u32::MAX as usize {
            return Err(ProblemError::TooMany { what, count });
        }
    }
    let offset_error = |at, why| Err(ProblemError::Offsets { at, why, entries });
    if parts.path_offsets[0] != 0 {
        return offset_error(0, "it is not 0");
    }
    if let Some(at) = parts.path_offsets.windows(2).position(|w| w[0] > w[1]) {
        return offset_error(at + 1, "it is less than the one before");
    }
    if parts.path_offsets[paths] != entries {
        return offset_error(paths, "it is not the length of path_links");
    }
    Ok(())
}

pub(super) fn check_values(
    what: &'static str,
    quantity: &'static str,
    values: &[f64],
    must: &'static str,
    good: impl Fn(f64) -> bool,
) -> Result<(), ProblemError> {
    match values.iter().position(|&v| !good(v)) {
        Some(index) => Err(ProblemError::Value { what, index, quantity, value: values[index], must }),
        None => Ok(()),
    }
}

pub(super) fn check_paths(parts: &ProblemParts) -> Result<(), ProblemError> {
    let (links, connections) = (parts.capacity.len(), parts.weight.len());
    // The last path that was seen on each link, to find a link that a path uses twice.
    let mut seen = vec![u32::MAX; links];
    for (path, &connection) in parts.path_connection.iter().enumerate() {
        if connection as usize >= connections {
            return Err(ProblemError::UnknownConnection { path, connection, connections });
        }
        let on_path = &parts.path_links[parts.path_offsets[path]..parts.path_offsets[path + 1]];
        if on_path.is_empty() {
            return Err(ProblemError::EmptyPath { path });
        }
        for &link in on_path {
            let Some(last) = seen.get_mut(link as usize) else {
                return Err(ProblemError::UnknownLink { path, link, links });
            };
            if *last == path as u32 {
                return Err(ProblemError::RepeatedLink { path, link });
            }
            *last = path as u32;
        }
    }
    Ok(())
}
