//! The granted rates of a connection.

use std::sync::Arc;
use std::time::Instant;

use anabranch_core::{ConnectionId, Rate};
use anabranch_plan::Plan;
use tokio::sync::watch;

use super::agents::join;
use crate::agents::{Application, FLOOR, LEASE, Lease, Request};
use crate::session::Session;

/// The rates of a connection, which leaves its agent when they are dropped.
pub(super) struct Rates {
    lease: Arc<Lease>,
    demand: watch::Sender<Rate>,
    _leave: watch::Sender<bool>,
}

impl Rates {
    /// Asks the agent for the rates of a connection.
    pub fn ask(application: Arc<Application>, plan: &Plan, id: ConnectionId) -> Self {
        let lease = Arc::new(Lease::new(plan.paths.of(id).count(), LEASE));
        let first = plan.demands.connections()[id.index()].demand.unwrap_or(Rate(f64::INFINITY));
        let (demand, hears_demand) = watch::channel(first);
        let (leave, hears_leave) = watch::channel(false);
        let request = Request { join: join(plan, id), demand: hears_demand, leave: hears_leave };
        let own = lease.clone();
        tokio::spawn(async move { application.hold(request, &own).await });
        Self { lease, demand, _leave: leave }
    }

    /// Applies the rates that are valid now, of which the share `payload` is payload of UDP, and reports the demand to
    /// the agent.
    ///
    /// # Errors
    /// If the agent refuses the session.
    pub fn apply(&self, session: &Session, demand: Rate, payload: f64) -> Result<(), String> {
        self.demand.send_if_modified(|known| std::mem::replace(known, demand) != demand);
        if let Some(reason) = self.lease.refusal() {
            return Err(format!("its agent grants it no rates: {reason}"));
        }
        let rates: Vec<Rate> = self.lease.rates(Instant::now()).iter().map(|rate| Rate(rate.0 * payload)).collect();
        session.grant(&rates, FLOOR);
        Ok(())
    }
}
