//! A session that a program opens, and keeps by its stream to the agent.
//!
//! The program writes lines, and the agent answers with lines of JSON:
//!
//! ```text
//! open {"name": "copy", "to": "Nice", "paths": 2}     a session as the file of an agent has it
//! {"demand": "20 Mbit/s"}                             another demand; null for none
//!
//! {"opened": "copy", "lease_s": 2, "floor_bps": 6e4}  or {"error": why not}, and the end
//! {"paths": [["Paris-Nice"], ["Paris-Lyon", "Lyon-Nice"]]}
//! {"rates_bps": [2e7, 3e7]}                           told again and again
//! {"refused": why, "is_lasting": false}               it is tried again
//! {"is_kept": true}                                   of one with a match: its packets are kept to its rates
//! {"is_kept": false, "problem": why not}
//! ```
//!
//! A rate that is not told again falls by half with each lease, down to the floor.

use std::sync::Arc;

use anabranch_core::lease::FLOOR;
use anabranch_core::quantity::RateText;
use anabranch_live::agents::LEASE;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, MissedTickBehavior, interval, sleep_until};

use super::lines::say;
use crate::config::{Session, demand};
use crate::control::Control;
use crate::sessions::Told;

/// The longest line, in bytes.
const MOST_LINE: u64 = 1 << 10;

/// Least time between two lines that are heard.
const PACE: Duration = Duration::from_millis(10);

/// Time between two looks whether packets are kept to rates.
const LOOK: Duration = Duration::from_millis(50);

/// What waits for a program; more is left out, as it comes again.
const MOST_TOLD: usize = 16;

/// A change of the demand.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    demand: Option<RateText>,
}

/// Keeps a session until the program ends its stream.
///
/// # Errors
/// Returns the reason why it cannot be, or can be no longer.
pub(super) async fn serve(
    application: &Arc<str>,
    session: &Session,
    mut reader: impl AsyncBufRead + Unpin,
    writer: &mut (impl AsyncWrite + Unpin),
    control: &Control,
) -> Result<(), String> {
    let (tell, mut told) = mpsc::channel(MOST_TOLD);
    let mut rights = control.rights().changes();
    let opened = control.open(application, session, tell)?;
    let (lease_s, floor_bps) = (LEASE.as_secs_f64(), FLOOR.0);
    if !say(writer, &json!({"opened": session.name, "lease_s": lease_s, "floor_bps": floor_bps})).await {
        return Ok(());
    }
    let mut heard = Instant::now();
    // Whether packets are kept to rates, as it was told last.
    let mut kept = None;
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // What is read of a line is kept while the agent tells something.
        let mut line = Vec::new();
        let mut lines = (&mut reader).take(MOST_LINE);
        let read = {
            let mut next = std::pin::pin!(async {
                sleep_until(heard).await;
                lines.read_until(b'\n', &mut line).await
            });
            loop {
                tokio::select! {
                    read = &mut next => break read,
                    Ok(()) = rights.changed() => {
                        control.check_rates(application, session)?;
                        opened.ask_again();
                    }
                    _ = look.tick(), if !session.traffic.is_empty() => {
                        let present = control.enforced().keeps(&session.name);
                        if kept.as_ref() != Some(&present) {
                            let words = match &present {
                                Ok(()) => json!({"is_kept": true}),
                                Err(problem) => json!({"is_kept": false, "problem": problem}),
                            };
                            if !say(writer, &words).await {
                                return Ok(());
                            }
                            kept = Some(present);
                        }
                    }
                    event = told.recv() => {
                        let Some(event) = event else { return Ok(()) };
                        if !say(writer, &words(&event, control)).await {
                            return Ok(());
                        }
                    }
                }
            }
        };
        if !matches!(read, Ok(1..)) {
            return Ok(());
        }
        heard = Instant::now() + PACE;
        let change = serde_json::from_slice::<Change>(&line).map_err(|error| error.to_string())?;
        opened.set_demand(demand(change.demand).0);
    }
}

/// What is told, as JSON.
fn words(event: &Told, control: &Control) -> Value {
    match event {
        Told::Paths(paths) => {
            json!({"paths": paths.iter().map(|links| control.names().path_names(links)).collect::<Vec<_>>()})
        }
        Told::Rates(rates) => json!({"rates_bps": rates}),
        Told::Refused(reason, is_lasting) => json!({"refused": reason, "is_lasting": is_lasting}),
    }
}
