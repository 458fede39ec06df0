//! The choice of the identity table for a packet's filter: the table that leads the fewest copies astray [jokela2009].

use anabranch_core::{LinkId, Network};

use crate::filter::{Filter, MOST_HOPS, Refusal};
use crate::forward::forward;
use crate::identities::Identities;

/// Returns the filter for `path` with the table that makes a packet take the fewest links beside the path; among equal
/// tables, the first.
///
/// It tries each table on the network instead of estimating.
///
/// # Errors
/// Returns an error if the path is too long for every table.
///
/// # Panics
/// If the path is not in the network, or the identities are those of another network.
pub fn filter_of(network: &Network, identities: &Identities, path: &[LinkId]) -> Result<Filter, Refusal> {
    let first = Filter::new(identities, 0, path);
    let Some(from) = path.first().map(|&link| network.link(link).source) else { return Ok(first) };
    if path.len() > MOST_HOPS {
        return Err(Refusal::TooLong(path.len()));
    }
    let mut best: Option<(usize, Filter)> = None;
    let mut refusal = None;
    for table in 0..identities.parameters().tables {
        let filter = Filter::new(identities, table as u8, path);
        let strays = match forward(network, identities, &filter, from) {
            Ok(journey) => journey.strays(path),
            Err(refused) => {
                refusal = refusal.or(Some(refused));
                continue;
            }
        };
        if strays == 0 {
            return Ok(filter);
        }
        if best.as_ref().is_none_or(|(fewest, _)| strays < *fewest) {
            best = Some((strays, filter));
        }
    }
    best.map(|(_, filter)| filter).ok_or_else(|| refusal.expect("each table gave a filter or a refusal"))
}
