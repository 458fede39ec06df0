//! The client of measurements.

use std::time::{Duration, Instant};

use super::data::{Counter, receive, send};
use super::report::{Interval, Report, Start};
use super::wire::{Answer, Conditions, DRAINING, Direction, Done, Request, ended, hear, tell, timely};
use super::{Event, PerfError, Plan};
use crate::connect::{ClientSession, Target};
use crate::control::{Ceiling, check_groups, named};
use crate::messages::is_wrong_service;
use crate::paths::{PathReport, numbered};
use crate::quic::{RecvStream, SendStream};
use crate::running::Events;
use crate::session::{Application, Session};

/// The longest wait for further paths to open before data flow.
const GATHERING: Duration = Duration::from_secs(1);

/// Time between checks for further paths.
const LOOK: Duration = Duration::from_millis(10);

/// Time between reports.
const INTERVAL: Duration = Duration::from_secs(1);

impl Plan {
    /// Checks that there is a group for each path, and that the control uses groups.
    fn check_groups(&self) -> Result<(), PerfError> {
        let (groups, paths) = (self.conditions.borrow().groups.len(), self.via.len().max(1));
        if groups == 0 {
            return Ok(());
        }
        if groups != paths {
            let range = format!("{paths}, one for each path");
            return Err(PerfError::OutOfRange { what: "the number of groups", asked: groups.to_string(), range });
        }
        Ok(check_groups(&named(&self.control)?)?)
    }

    fn request(&self) -> Request {
        Request {
            groups: Vec::new(),
            most_bps: None,
            control: self.control.clone(),
            direction: self.direction,
            seconds: self.seconds,
            bytes: self.bytes,
            streams: self.streams,
        }
    }
}

/// Makes one measurement: reports each interval, and finally the whole.
pub async fn measure(plan: Plan, events: Events<Event>) -> Result<(), PerfError> {
    let (mut request, protocol) = (plan.request(), named(&plan.control)?);
    request.check()?;
    plan.check_groups()?;
    let target = Target {
        url: &plan.url,
        authorities: plan.authorities.as_deref(),
        identity: None,
        qlog: plan.qlog.as_ref(),
        via: &plan.via,
        backup: &[],
        protocol: &protocol,
        application: Application::default(),
    };
    let ClientSession { client, mut session, remote } = target.connect().await?;
    gather(&session).await;
    request.groups = grouped(&session, &plan);
    // There is a ceiling before data flow, whichever end sends.
    let ceiling = plan.conditions.borrow().ceiling.clone();
    match request.direction {
        Direction::Up => session.limit(&ceiling),
        Direction::Down => request.most_bps = of_all(&ceiling),
    }
    let asked = timely("it does not answer", ask(&session, &request)).await;
    let (tells, mut hears) =
        asked.map_err(|error| if is_wrong_service(session.connection()) { PerfError::Share } else { error })?;
    if request.direction == Direction::Down && session.group().counts_marks() {
        session.tell_marks();
    }
    let counter = Counter::default();
    let begun = session.paths();
    let mut intervals = Vec::new();
    let own = async {
        match request.direction {
            Direction::Up => send(&session, &request, &counter).await.map(|(done, _)| done),
            Direction::Down => receive(&session, &request, &counter).await,
        }
    };
    let own: Done = tokio::select! {
        done = own => done?,
        never = keep_conditions(&session, &plan, &request, tells) => never,
        never = watch(&session, &counter, request.direction, &mut intervals, &events) => never,
    };
    let last = tokio::time::timeout(DRAINING, hear::<Done>(&mut hears)).await;
    let peer: Done = last.map_err(|_| PerfError::Unruly("it does not say what it has done".to_owned()))??;
    let paths = session.paths();
    let own = own.over(&begun, &paths);
    session.close(0, "done");
    client.close().await;
    let start = Start::new(&plan, remote, &paths);
    events.tell(Event::Measured(Box::new(Report::new(start, intervals, request.direction, own, peer, &begun, &paths))));
    Ok(())
}

/// Requests a measurement. Returns the stream for further messages, and the stream for the result.
async fn ask(session: &Session, request: &Request) -> Result<(SendStream, RecvStream), PerfError> {
    let (mut tells, mut hears) = session.connection().open_bi().await.map_err(ended)?;
    tell(&mut tells, request).await?;
    match hear::<Answer>(&mut hears).await?.refusal {
        Some(refusal) => Err(PerfError::Refused(refusal)),
        None => Ok((tells, hears)),
    }
}

/// The groups of open paths, by their numbers; empty if there are no groups.
fn grouped(session: &Session, plan: &Plan) -> Vec<(u32, u32)> {
    let groups = &plan.conditions.borrow().groups;
    if groups.is_empty() { Vec::new() } else { numbered(&session.numbers(), groups) }
}

/// The rate of a ceiling of all paths together, in bit/s, if there is one.
fn of_all(ceiling: &Ceiling) -> Option<f64> {
    Some(ceiling.total.0).filter(|bps| bps.is_finite())
}

/// Keeps the sender, at this end or the other, informed of the conditions of the paths while these come and go; does
/// not return.
async fn keep_conditions(session: &Session, plan: &Plan, request: &Request, mut tells: SendStream) -> Done {
    let mut told = Conditions { groups: request.groups.clone(), most_bps: request.most_bps };
    loop {
        let groups = grouped(session, plan);
        let ceiling = plan.conditions.borrow().ceiling.clone();
        match request.direction {
            Direction::Up => {
                session.limit(&ceiling);
                if !groups.is_empty() {
                    session.regroup_numbered(&groups);
                }
            }
            Direction::Down => {
                let present = Conditions { groups, most_bps: of_all(&ceiling) };
                if present != told {
                    told.clone_from(&present);
                    // The end of the connection is detected elsewhere.
                    let _ = tell(&mut tells, &present).await;
                }
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits until all paths are open, or for the longest permitted time.
async fn gather(session: &Session) {
    let end = Instant::now() + GATHERING;
    while session.paths().iter().any(|path| !path.is_open) && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
}

/// Reports each interval; does not return.
async fn watch(
    session: &Session,
    counter: &Counter,
    direction: Direction,
    intervals: &mut Vec<Interval>,
    events: &Events<Event>,
) -> Done {
    let start = Instant::now();
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.tick().await;
    let mut last: (f64, u64, Vec<PathReport>) = (0.0, 0, session.paths());
    loop {
        ticks.tick().await;
        let now = (start.elapsed().as_secs_f64(), counter.read(), session.paths());
        let interval = Interval::new(direction, (last.0, now.0), now.1 - last.1, &last.2, &now.2);
        events.tell(Event::Interval(Box::new(interval.clone())));
        intervals.push(interval);
        last = now;
    }
}
