//! The filters in packets: one for each path and one for its way back.

use anabranch_core::{ConnectionId, LinkId, Network, Paths};
use anabranch_plan::{Filters, way_back};
use anabranch_psi::{Filter, Identities, Refusal, filter_of, forward};

use super::Scenario;
use super::connections::Connections;
use crate::error::ScenarioError;

/// The most stray links over all paths, since a run keeps each of them.
const MOST_STRAYS: usize = 1 << 24;

impl Scenario {
    /// Makes and checks the filters of all paths; `None` if packets follow their paths without filters.
    pub(super) fn filters(
        &self,
        network: &Network,
        wants: &Connections,
        paths: &Paths,
    ) -> Result<Option<Filters>, ScenarioError> {
        let Some(table) = &self.file.filters else { return Ok(None) };
        let identities = Identities::new(network.links().len(), table.get_ref().parameters(self.run().seed))
            .map_err(|mistake| self.error(table.span(), mistake.to_string()))?;
        let mut maker = Maker { network, identities: &identities, strays: 0 };
        let (mut there, mut back) = (Vec::with_capacity(paths.len()), Vec::with_capacity(paths.len()));
        for (c, connection) in wants.demands.connections().iter().enumerate() {
            let refuse =
                |reason: String| self.error(wants.span(c), format!("connection `{}`{reason}", connection.name));
            let protocol = &wants.protocols[wants.transfers[c].protocol];
            if protocol.capabilities().has_headers() {
                let reason = "carry headers for links, which no filter takes along; take another, or no [filters]";
                return Err(refuse(format!(": data packets of {} {reason}", protocol.title())));
            }
            for (path, number) in paths.of(ConnectionId::new(c)).zip(1..) {
                let own = maker.filter(path);
                there.push(own.map_err(|refusal| refuse(format!(", path {number}: {refusal}")))?);
                let own =
                    protocol.capabilities().keeps_windows().then(|| maker.filter(&way_back(network, path))).transpose();
                back.push(own.map_err(|refusal| refuse(format!(", path {number}, way back: {refusal}")))?);
            }
        }
        if maker.strays > MOST_STRAYS {
            let message = format!(
                "packets of all paths take {} links beside these; a run takes up to {MOST_STRAYS}: give filters more \
                 bits, or a lower `most_fill`",
                maker.strays
            );
            return Err(self.error(table.span(), message));
        }
        Ok(Some(Filters { identities, there, back }))
    }
}

/// The maker of filters, which also counts the links that packets with these filters take beside their paths.
struct Maker<'a> {
    network: &'a Network,
    identities: &'a Identities,
    strays: usize,
}

impl Maker<'_> {
    fn filter(&mut self, path: &[LinkId]) -> Result<Filter, Refusal> {
        let filter = filter_of(self.network, self.identities, path)?;
        let from = self.network.link(path[0]).source;
        self.strays += forward(self.network, self.identities, &filter, from)?.strays(path);
        Ok(filter)
    }
}
