//! Scenarios as text, and what must hold of any outcome.

use std::sync::Arc;

use anabranch_plan::Plan;
use anabranch_scenario::{NetworkSource, Scenario};
use anabranch_sim::{Outcome, SubflowTotal};

/// What a scenario comes to, if it is accepted.
pub fn planned(text: &str) -> Result<Plan, String> {
    let scenario = Scenario::parse(text).map_err(|error| error.to_string())?;
    let NetworkSource::Inline(network) = scenario.network().map_err(|error| error.to_string())? else {
        return Err("the network is elsewhere".to_owned());
    };
    let plan = scenario.plan(Arc::new(network), None, &|_| Err(String::new()), &|_| true);
    plan.map_err(|error| error.to_string())
}

/// The first thing in an outcome that is not as numbers should be.
pub fn mistake(outcome: &Outcome) -> Option<&'static str> {
    let is_amount = |x: &f64| x.is_finite() && *x >= 0.0;
    let samples = &outcome.samples;
    let tables = [
        &samples.connection_granted_bps,
        &samples.connection_delivered_bps,
        &samples.subflow_granted_bps,
        &samples.subflow_delivered_bps,
        &samples.link_granted_bps,
        &samples.link_carried_bps,
        &samples.link_fair_bps,
    ];
    if !tables.iter().all(|table| table.iter().all(is_amount)) {
        return Some("a sample");
    }
    if !outcome.grants.iter().all(|g| is_amount(&g.rate.0)) {
        return Some("a grant");
    }
    if !samples.residual.iter().chain(&samples.overload).all(is_amount) {
        return Some("a gauge");
    }
    if !samples.connection_fair_bps.iter().all(|x| x.is_nan() || is_amount(x)) {
        return Some("a fair rate");
    }
    let subflow = |s: &SubflowTotal| is_amount(&s.mean_delay_s) && is_amount(&s.most_delay_s);
    (!outcome.subflows.iter().all(subflow)).then_some("a subflow's total")
}
