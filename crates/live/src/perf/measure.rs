//! The client of measurements.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use noq::RecvStream;

use super::PerfError;
use super::data::{Counter, receive, send};
use super::report::{Interval, Report, Start};
use super::running::Event;
use super::wire::{Answer, DRAINING, Direction, Done, Request, ended, hear, tell, timely};
use crate::control::named;
use crate::paths::PathReport;
use crate::reach::{Reached, Way};
use crate::running::Events;
use crate::session::Session;
use crate::url::Url;

/// How long the paths after the first may take to open before data flow.
const GATHERING: Duration = Duration::from_secs(1);

/// How often it is looked whether they are.
const LOOK: Duration = Duration::from_millis(10);

/// How often there is a report.
const INTERVAL: Duration = Duration::from_secs(1);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server.
    pub url: Url,
    /// A file of certificates that the server's is signed by, instead of fingerprints in the URL.
    pub authorities: Option<PathBuf>,
    /// Local addresses or interfaces; none for what the system chooses.
    pub via: Vec<String>,
    /// The name of the protocol that controls the sender.
    pub control: String,
    /// Who sends.
    pub direction: Direction,
    /// The sender stops after so long.
    pub seconds: f64,
    /// And after so many bytes.
    pub bytes: u64,
    /// Over so many streams at a time.
    pub streams: u32,
}

impl Plan {
    fn request(&self) -> Request {
        Request {
            control: self.control.clone(),
            direction: self.direction,
            seconds: self.seconds,
            bytes: self.bytes,
            streams: self.streams,
        }
    }
}

/// Measures once: tells of each interval, and at last of all.
pub async fn measure(plan: Plan, events: Events<Event>) -> Result<(), PerfError> {
    let (request, protocol) = (plan.request(), named(&plan.control)?);
    request.check()?;
    let way = Way { url: &plan.url, authorities: plan.authorities.as_deref(), via: &plan.via, protocol: &protocol };
    let Reached { client, mut session, remote } = way.reach().await?;
    gather(&session).await;
    let mut hears = timely("it does not answer", ask(&session, &request)).await?;
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

/// Asks for a measurement: where the end of it is told of.
async fn ask(session: &Session, request: &Request) -> Result<RecvStream, PerfError> {
    let (mut tells, mut hears) = session.connection().open_bi().await.map_err(ended)?;
    tell(&mut tells, request).await?;
    match hear::<Answer>(&mut hears).await?.refusal {
        Some(refusal) => Err(PerfError::Refused(refusal)),
        None => Ok(hears),
    }
}

/// Waits until all paths are open, or for as long as they may take.
async fn gather(session: &Session) {
    let end = Instant::now() + GATHERING;
    while session.paths().iter().any(|path| !path.is_open) && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
}

/// Tells of each interval, for ever.
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
