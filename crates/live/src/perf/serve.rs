//! The server of measurements.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_core::Rate;
use tokio::sync::Semaphore;

use super::data::{Counter, drain, receive, send};
use super::report::size;
use super::wire::{Answer, Conditions, Direction, Done, PATIENCE, Request, ended, hear, tell, timely};
use super::{Event, PerfError};
use crate::control::{Ceiling, MOST_PATHS, check_groups, named};
use crate::messages::WRONG_SERVICE;
use crate::qlog::Qlog;
use crate::quic::{RecvStream, SendStream};
use crate::running::Events;
use crate::security::{Identity, SecurityError};
use crate::session::{Arrival, Server, Session, SessionError, listening};
use crate::url::Url;

/// The most measurements at a time; further clients are refused.
const MOST_AT_A_TIME: usize = 16;

/// Time between assignments of opened paths to their groups.
const LOOK: Duration = Duration::from_millis(20);

/// The settings of a server.
#[derive(Debug)]
pub struct Service {
    /// Local address; port 0 selects any free port.
    pub address: SocketAddr,
    /// Certificate and its key; `None` makes a new one.
    pub identity: Option<Identity>,
    /// Name or address in the URL, if it is not that of the socket.
    pub host: Option<String>,
    /// Where logs of connections are kept, if they are.
    pub qlog: Option<Arc<Qlog>>,
}

/// Serves until it is dropped: reports the URL first, then each measurement.
pub async fn serve(service: Service, events: Events<Event>) -> Result<(), PerfError> {
    let made = || Identity::made().map_err(|error: SecurityError| SessionError::from(error));
    let identity = service.identity.map_or_else(made, Ok)?;
    let bound = Server::bind(&[service.address.into()], &identity).await;
    let server = bound.map_err(|error| listening(error, |address, error| PerfError::Listen { address, error }))?;
    let server = server.with_qlog(service.qlog);
    let host = service.host.unwrap_or_else(|| server.address().ip().to_string());
    let (port, pins) = (server.address().port(), vec![identity.fingerprint()]);
    events.tell(Event::Serving(Url { host, port, path: String::new(), pins, hash: None }));
    let room = Arc::new(Semaphore::new(MOST_AT_A_TIME));
    while let Some(arrival) = server.next().await {
        let (events, room) = (events.clone(), room.clone());
        tokio::spawn(async move {
            let line = match one(arrival, &room).await {
                Ok(line) => line,
                Err(error) => format!("no measurement: {error}"),
            };
            events.tell(Event::Served(line));
        });
    }
    Ok(())
}

/// Serves one client; returns a line of text on the outcome.
async fn one(arrival: Arrival, room: &Semaphore) -> Result<String, PerfError> {
    let mut session = arrival.accept().await?;
    let remote = session.paths().first().map_or_else(String::new, |path| path.label.clone());
    let asked = timely(&format!("{remote} asks for nothing"), agree(&session, room)).await;
    // A fetcher begins with a shorter length, which reads as a huge one here, or with a shorter message.
    if let Err(PerfError::TooLong(_) | PerfError::Ended(_)) = &asked {
        session.close(WRONG_SERVICE, "this is `anabranch perf --serve`");
    }
    let (request, (mut tells, hears), _permit) = asked?;
    if request.direction == Direction::Up && session.group().counts_marks() {
        session.tell_marks();
    }
    let (counter, verb) = (Counter::default(), if request.direction == Direction::Up { "received" } else { "sent" });
    let done: Done = match request.direction {
        Direction::Up => receive(&session, &request, &counter).await?,
        Direction::Down => {
            limit(&session, request.most_bps);
            let begun = session.paths();
            let (done, streams) = tokio::select! {
                sent = send(&session, &request, &counter) => sent?,
                never = keep_conditions(&session, &request, hears) => never,
            };
            drain(&streams).await;
            done.over(&begun, &session.paths())
        }
    };
    timely("it does not take what it is told", tell(&mut tells, &done)).await?;
    tells.finish().map_err(ended)?;
    // The client closes the connection when it has read the result.
    let _ = tokio::time::timeout(PATIENCE, session.connection().closed()).await;
    let paths = match session.paths().len() {
        1 => "1 path".to_owned(),
        count => format!("{count} paths"),
    };
    let amount = size(done.bytes);
    Ok(format!("{remote}: {verb} {amount} in {:.2} s over {paths} under {}", done.seconds, request.control))
}

/// Reads the request of a client, and decides whether to serve it.
async fn agree<'a>(
    session: &Session,
    room: &'a Semaphore,
) -> Result<(Request, (SendStream, RecvStream), tokio::sync::SemaphorePermit<'a>), PerfError> {
    let (mut tells, mut hears): (SendStream, RecvStream) = session.connection().accept_bi().await.map_err(ended)?;
    let request: Request = hear(&mut hears).await?;
    let chosen = request.check().and_then(|()| choose(session, &request));
    let refusal = match (chosen, room.try_acquire()) {
        (Ok(()), Ok(permit)) => {
            tell(&mut tells, &Answer { refusal: None }).await?;
            return Ok((request, (tells, hears), permit));
        }
        (Err(error), _) => error.to_string(),
        (Ok(()), Err(_)) => format!("{MOST_AT_A_TIME} measurements are under way; try again later"),
    };
    tell(&mut tells, &Answer { refusal: Some(refusal.clone()) }).await?;
    tells.finish().map_err(ended)?;
    let _ = tells.stopped().await;
    Err(PerfError::Refused(refusal))
}

/// Sets the requested control, if it uses groups where there are any.
fn choose(session: &Session, request: &Request) -> Result<(), PerfError> {
    let protocol = named(&request.control)?;
    if !request.groups.is_empty() {
        check_groups(&protocol)?;
    }
    Ok(session.group().choose(&protocol)?)
}

/// Sends no more than a client asks for in bit/s, if this is a rate.
fn limit(session: &Session, most_bps: Option<f64>) {
    if let Some(bps) = most_bps.filter(|bps| *bps >= 0.0) {
        session.limit(&Ceiling::asked(Rate(bps)));
    }
}

/// Sets the conditions of the paths that a client reports; does not return.
async fn keep_conditions<T>(session: &Session, request: &Request, mut hears: RecvStream) -> T {
    let groups = Mutex::new(request.groups.clone());
    let lock = || groups.lock().unwrap_or_else(PoisonError::into_inner);
    let hearing = async {
        while let Ok(told) = hear::<Conditions>(&mut hears).await {
            // A message with more groups than possible paths is ignored.
            if told.groups.len() <= MOST_PATHS {
                *lock() = told.groups;
            }
            limit(session, told.most_bps);
        }
    };
    let keeping = async {
        while !request.groups.is_empty() {
            session.regroup_numbered(&lock());
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::join!(hearing, keeping);
    std::future::pending().await
}
