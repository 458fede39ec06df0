//! The server of measurements.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::data::{Counter, drain, receive, send};
use super::wire::{Answer, Direction, Done, Groups, PATIENCE, Request, ended, hear, tell, timely};
use super::{Event, PerfError};
use crate::control::{MOST_PATHS, check_groups, named};
use crate::quic::{RecvStream, SendStream};
use crate::running::Events;
use crate::security::{Identity, SecurityError};
use crate::session::{Arrival, Server, Session, SessionError};
use crate::url::Url;

/// Measurements at a time; who comes then is refused.
const MOST_AT_A_TIME: usize = 16;

/// How often paths that have opened are put into their groups.
const LOOK: Duration = Duration::from_millis(20);

/// Where to serve, and as whom.
#[derive(Debug)]
pub struct Service {
    /// The local address; port 0 is any that is free.
    pub address: SocketAddr,
    /// The certificate and its key; if there is none, one is made.
    pub identity: Option<Identity>,
    /// The name or address that the URL is to show, if not that of the socket.
    pub host: Option<String>,
}

/// Serves until it is dropped: tells the URL first, then of each measurement.
pub async fn serve(service: Service, events: Events<Event>) -> Result<(), PerfError> {
    let made = || Identity::made().map_err(|error: SecurityError| SessionError::from(error));
    let identity = service.identity.map_or_else(made, Ok)?;
    let server = Server::bind(&[service.address.into()], &identity).await?;
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

/// Serves one client; what is to be said of it.
async fn one(arrival: Arrival, room: &Semaphore) -> Result<String, PerfError> {
    let mut session = arrival.accept().await?;
    let remote = session.paths().first().map_or_else(String::new, |path| path.label.clone());
    let (request, (mut tells, hears), _permit) =
        timely(&format!("{remote} asks for nothing"), agree(&session, room)).await?;
    if request.direction == Direction::Up && session.group().counts_marks() {
        session.tell_marks();
    }
    let (counter, verb) = (Counter::default(), if request.direction == Direction::Up { "received" } else { "sent" });
    let done: Done = match request.direction {
        Direction::Up => receive(&session, &request, &counter).await?,
        Direction::Down => {
            let begun = session.paths();
            let (done, streams) = tokio::select! {
                sent = send(&session, &request, &counter) => sent?,
                never = regroup(&session, &request, hears) => never,
            };
            drain(&streams).await;
            done.over(&begun, &session.paths())
        }
    };
    timely("it does not take what it is told", tell(&mut tells, &done)).await?;
    tells.finish().map_err(ended)?;
    // The client leaves when it has read that; until then the connection is needed.
    let _ = tokio::time::timeout(PATIENCE, session.connection().closed()).await;
    let paths = session.paths().len();
    Ok(format!(
        "{remote}: {verb} {} bytes in {:.2} s over {paths} paths under {}",
        done.bytes, done.seconds, request.control
    ))
}

/// Hears what a client wants, and whether it may have it.
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

/// Puts the control that a client wants in control, if it goes by groups where there are any.
fn choose(session: &Session, request: &Request) -> Result<(), PerfError> {
    let protocol = named(&request.control)?;
    if !request.groups.is_empty() {
        check_groups(&protocol)?;
    }
    Ok(session.group().choose(&protocol)?)
}

/// Keeps to the groups of paths that a client tells, for ever.
async fn regroup<T>(session: &Session, request: &Request, mut hears: RecvStream) -> T {
    let groups = Mutex::new(request.groups.clone());
    let lock = || groups.lock().unwrap_or_else(PoisonError::into_inner);
    let hearing = async {
        while let Ok(told) = hear::<Groups>(&mut hears).await {
            // More than there can be paths are no groups, and change nothing.
            if told.groups.len() <= MOST_PATHS {
                *lock() = told.groups;
            }
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
