//! What a running agent shows, as JSON: with names in place of numbers.

use std::collections::BTreeMap;

use anabranch_agents::message::number_of;
use anabranch_agents::{AgentId, Counts, NeighbourState, SessionState};
use anabranch_live::agents::AgentReport;
use serde_json::{Value, json};

use crate::config::Config;

/// The names of nodes and links by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    node: String,
    nodes: BTreeMap<AgentId, String>,
    links: BTreeMap<u32, String>,
}

impl Names {
    pub fn of(config: &Config) -> Self {
        let nodes = config.neighbours.keys().map(|name| (AgentId::of(name), name.clone())).collect();
        let node = config.map.node(&config.node).expect("the configuration was checked");
        let links = config.map.links_from(node).into_iter().map(|name| (number_of(&name), name)).collect();
        Self { node: config.node.clone(), nodes, links }
    }

    /// A report with names. Rates are in bit/s; a rate or a demand without a limit is null.
    pub fn shown(&self, report: &AgentReport) -> Value {
        let rate = |bps: f64| if bps.is_finite() { json!(bps) } else { Value::Null };
        let neighbours = report.view.neighbours.iter().map(|neighbour| {
            let state = match neighbour.state {
                NeighbourState::Up => "up",
                NeighbourState::Waiting => "waiting",
                NeighbourState::GivenUp => "given up",
                NeighbourState::HeldOff => "held off",
            };
            json!({"node": self.nodes.get(&neighbour.id), "state": state, "waiting": neighbour.waiting})
        });
        let sessions = report.view.sessions.iter().map(|session| {
            let state = match session.state {
                SessionState::Active => "active",
                SessionState::Waiting => "waiting",
                SessionState::Leaving => "leaving",
            };
            let rates: Vec<Value> = session.rates.iter().map(|path| json!(path.map(|path| path.0))).collect();
            json!({
                "number": session.client.0, "state": state, "weight": session.claim, "demand_bps": rate(session.demand.0),
                "rate_bps": session.rates.iter().flatten().map(|path| path.0).sum::<f64>(), "paths_bps": rates,
            })
        });
        let links = report.view.links.iter().map(|link| {
            json!({
                "link": self.links.get(&link.link), "capacity_bps": rate(link.capacity.0),
                "claims": link.claims, "claims_limited_here": link.claims_here,
            })
        });
        json!({
            "node": self.node,
            "generation": format!("{:016x}", report.view.generation),
            "neighbours": neighbours.collect::<Vec<_>>(),
            "sessions": sessions.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "packets_in_flight": report.view.in_flight,
            "is_clear": report.is_clear,
            "counts": counts(&report.counts),
        })
    }
}

fn counts(counts: &Counts) -> Value {
    let Counts { counted, stale, lost, refused, overdue, unknown, false_messages, given_up, renewals, lapsed } = counts;
    json!({
        "counted": counted, "stale": stale, "lost": lost, "refused": refused, "overdue": overdue, "unknown": unknown,
        "false_messages": false_messages, "given_up": given_up, "renewals": renewals, "lapsed": lapsed,
    })
}
