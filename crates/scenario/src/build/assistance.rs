//! The information that the network gives connections.

use anabranch_core::paths::{quickest_from, quickest_to};
use anabranch_core::{LinkId, Network, Span};
use anabranch_plan::Assistance;
use toml::Spanned;

use super::Scenario;
use super::connections::Connections;
use crate::error::ScenarioError;

impl Scenario {
    /// Builds the assistance of the network from `[assistance]`.
    pub(super) fn assistance(&self, network: &Network) -> Result<Assistance, ScenarioError> {
        let Some(table) = self.file.assistance.as_ref().map(Spanned::get_ref) else { return Ok(Assistance::default()) };
        let link = |(name, span): (&String, std::ops::Range<usize>)| {
            let message = || format!("without: there is no link `{name}`; name links of the network");
            network.find_link(name).ok_or_else(|| self.error(span, message()))
        };
        let without = table.without.iter().flat_map(|names| names.get_ref().iter().map(|name| (name, names.span())));
        let without: Vec<LinkId> = without.map(link).collect::<Result<_, _>>()?;
        Ok(Assistance {
            sharing: table.sharing.into(),
            without,
            failures_after: table.failures_after.map(|after| after.0),
        })
    }

    /// Sets for each fetch how long its subscription takes: from the target to the rendezvous node, from there to the
    /// topology manager, and from there back to the target, each over the path of the least delay.
    pub(super) fn set_up(&self, network: &Network, wants: &mut Connections) -> Result<(), ScenarioError> {
        let Some(table) = self.file.assistance.as_ref().map(Spanned::get_ref) else { return Ok(()) };
        let (rendezvous, manager) = match (&table.rendezvous, &table.manager) {
            (None, None) => return Ok(()),
            (Some(rendezvous), Some(manager)) => (rendezvous, manager),
            (Some(one), None) | (None, Some(one)) => {
                let message = "of `rendezvous` and `manager` one is given; give both, or leave both out";
                return Err(self.error(one.span(), message));
            }
        };
        let find = |name: &Spanned<String>| {
            let (text, hint) = (name.get_ref(), network.node_hint(name.get_ref()));
            let message = || format!("there is no node `{text}`{hint}; name one of the network's nodes");
            network.find_node(text).ok_or_else(|| self.error(name.span(), message()))
        };
        let (at, by) = (find(rendezvous)?, find(manager)?);
        let (to_rendezvous, from_manager) = (quickest_to(network, at), quickest_from(network, by));
        let between = quickest_to(network, by)[at.index()];
        for f in 0..wants.fetches.len() {
            let c = wants.fetches[f].connection.index();
            let target = wants.demands.connections()[c].target;
            let (first, last) = (to_rendezvous[target.index()], from_manager[target.index()]);
            let mut total = Span(0);
            for (from, to, delay) in [(target, at, first), (at, by, between), (by, target, last)] {
                let Some(delay) = delay else {
                    let [from, to] = [from, to].map(|node| &network.node(node).name);
                    let name = &wants.demands.connections()[c].name;
                    let message =
                        format!("connection `{name}`: no path leads from `{from}` to `{to}` for its subscription");
                    return Err(self.error(wants.span(c), message));
                };
                total = Span(total.0.saturating_add(delay.0));
            }
            wants.fetches[f].set_up = total;
        }
        Ok(())
    }
}
