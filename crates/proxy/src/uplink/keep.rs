//! The lines of a proxy, which are made again when they are lost.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_live::PathReport;
use anabranch_live::connect::{ClientSession, Target as Server};
use anabranch_live::quic::{ConnectionError, certificate_refused};
use anabranch_live::session::Application;
use anabranch_proto::Protocol;
use http::{Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::requests::ask;
use super::{ANSWER_TIME, Exit, Seen, UplinkState, Way, Ways};
use crate::bundle::Bundle;
use crate::bundle::greeting::{BundleId, Greeting, LINE, MARKS};
use crate::bundle::line::Line;
use crate::bundle::terms::Terms;
use crate::exit::{CONTROL, proxying};
use crate::http3::{self, ALPN};
use crate::packets::flows::Flows;
use crate::tunnel::Leaving;
use crate::unreached::Unreached;

/// Time before another try to connect: at first, and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(1));

/// Time after which another attempt to connect begins beside one that has no answer, and the most of these.
const AGAIN: Duration = Duration::from_secs(1);
const MOST_ATTEMPTS: usize = 2;

/// The longest that an attempt takes.
const CONNECT_TIME: Duration = Duration::from_secs(8);

/// The states of all lines, and who hears of them.
pub(super) struct Board {
    lines: Mutex<Vec<Known>>,
    /// The control of the exit that was told last, where it is another than was named.
    told: Mutex<Option<&'static str>>,
    tell: Box<dyn Fn(UplinkState) + Send + Sync>,
}

/// What is known of a line, whether it is up or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    pub number: u8,
    pub terms: Terms,
    /// Bytes on links that earlier connections have carried in both directions.
    pub carried: u64,
    /// The report of when it was opened last.
    pub report: PathReport,
    /// Why it is down, if it is.
    pub reason: Option<String>,
}

impl Board {
    /// A board for the lines to an exit, none of which is up.
    pub fn new(exit: &Exit, tell: impl Fn(UplinkState) + Send + Sync + 'static) -> Self {
        let down = |(number, (via, is_backup)): (u8, (Vec<String>, bool))| Known {
            number,
            terms: exit.conditions.borrow().of(number, is_backup),
            carried: 0,
            report: PathReport::closed(via.concat()),
            reason: None,
        };
        let lines = Mutex::new((0..).zip(exit.places()).map(down).collect());
        Self { lines, told: Mutex::default(), tell: Box::new(tell) }
    }

    /// All lines, in the order of their numbers.
    pub fn all(&self) -> Vec<Known> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells that there can be no line.
    pub fn fail(&self, reason: String) {
        (self.tell)(UplinkState::Down(reason));
    }

    /// Notes under which control the exit sends, where another was named.
    fn sends(&self, control: Option<&'static str>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *told, control) != control
            && let Some(control) = control
        {
            (self.tell)(UplinkState::Sends(control));
        }
    }

    /// Notes that a line is up.
    fn up(&self, number: u8, report: Option<PathReport>) {
        self.note(number, |line| {
            let before = line.report.openings;
            if let Some(report) = report {
                line.report = report;
            }
            (line.report.is_open, line.report.openings, line.reason) = (true, before + 1, None);
        });
    }

    /// Notes that a line is down, and why.
    fn down(&self, number: u8, reason: String) {
        self.note(number, |line| (line.report.is_open, line.reason) = (false, Some(reason)));
    }

    /// Notes what a line that is left has carried.
    fn carried(&self, number: u8, bytes: u64) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines[usize::from(number)].carried += bytes;
    }

    /// Notes the terms of a line.
    fn changes(&self, number: u8, terms: Terms) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines[usize::from(number)].terms = terms;
    }

    fn note(&self, number: u8, change: impl FnOnce(&mut Known)) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let before = lines.clone();
        change(&mut lines[usize::from(number)]);
        if *lines == before {
            return;
        }
        let reports = lines.iter().map(|line| line.report.clone()).collect::<Vec<_>>();
        let state = if reports.iter().any(|report| report.is_open) {
            UplinkState::Up(reports)
        } else {
            let mut reasons: Vec<&str> = lines.iter().filter_map(|line| line.reason.as_deref()).collect();
            reasons.dedup();
            UplinkState::Down(reasons.join("; "))
        };
        drop(lines);
        (self.tell)(state);
    }
}

/// The place of a line.
pub(super) struct Place {
    pub bundle: BundleId,
    pub number: u8,
    /// The local address or interface; none if the system chooses.
    pub via: Vec<String>,
    pub is_backup: bool,
}

impl Place {
    /// What is said of the line now.
    fn greeting(&self, exit: &Exit) -> Greeting {
        let terms = exit.conditions.borrow().of(self.number, self.is_backup);
        Greeting { bundle: self.bundle, number: self.number, terms }
    }
}

/// Keeps a line; does not return.
pub(super) async fn keep(exit: Arc<Exit>, place: Place, (bundle, ways, seen): (Arc<Bundle>, Arc<Ways>, Arc<Seen>)) {
    let mut pause = BACK_OFF.0;
    loop {
        let reason = match connect(&exit, &place.via, &bundle).await {
            Ok(ClientSession { client, session, .. }) => {
                let session = Arc::new(session);
                let flows = Flows::new(session.connection().clone());
                let line = Line::new(place.number, place.greeting(&exit).terms, session, flows.data());
                let _leaving = Leaving(line.quic().clone());
                let (reason, was_up) = hold(&exit, &place, (&line, &flows), (&bundle, &ways, &seen)).await;
                // In between it counts as if it had carried nothing, and never twice.
                bundle.remove(&line);
                seen.board.carried(place.number, line.carried());
                drop(client);
                if was_up {
                    pause = BACK_OFF.0;
                }
                reason
            }
            Err(reason) => reason,
        };
        seen.board.down(place.number, reason);
        sleep(pause).await;
        pause = (2 * pause).min(BACK_OFF.1);
    }
}

/// Connects: where there is no answer for a while another attempt begins, as the first may have lost its packets.
async fn connect(exit: &Arc<Exit>, via: &[String], bundle: &Bundle) -> Result<ClientSession, String> {
    let mut attempts = JoinSet::new();
    loop {
        if attempts.len() < MOST_ATTEMPTS {
            let (exit, via, group) = (exit.clone(), via.to_vec(), bundle.group.clone());
            attempts.spawn(async move {
                let server = Server {
                    url: &exit.url,
                    authorities: exit.authorities.as_deref(),
                    identity: exit.identity.as_ref(),
                    qlog: exit.qlog.as_ref(),
                    via: &via,
                    backup: &[],
                    protocol: &exit.protocol,
                    application: Application { alpn: ALPN, quic_config: proxying() },
                };
                let connecting = timeout(CONNECT_TIME, server.connect_under(&group)).await;
                connecting.map_err(|_| "the exit does not answer".to_owned())?.map_err(|error| error.to_string())
            });
        }
        tokio::select! {
            Some(outcome) = attempts.join_next() => match outcome.unwrap_or_else(|error| Err(error.to_string())) {
                Ok(session) => return Ok(session),
                Err(reason) if attempts.is_empty() => return Err(reason),
                Err(_) => {}
            },
            () = sleep(AGAIN) => {}
        }
    }
}

/// Uses a line until it is lost; why it was, and whether it was of use.
async fn hold(
    exit: &Exit,
    place: &Place,
    (line, flows): (&Arc<Line>, &Flows),
    (bundle, ways, seen): (&Bundle, &Ways, &Seen),
) -> (String, bool) {
    let (mut keeping, mut asking) = match http3::ask(line.quic().clone()).await {
        Ok(both) => both,
        // A certificate that is not taken ends a connection that has just opened.
        Err(error) => return (line.quic().close_reason().map_or(error, |_| lost(line)), false),
    };
    let way = Way { line: line.clone(), asking: asking.clone(), flows: flows.clone() };
    let mut was_up = false;
    let using = async {
        // The exit waits for the first request, and it alone knows whether it knows this end.
        let counts_marks = bundle.group.counts_marks();
        let mut conditions = exit.conditions.clone();
        conditions.mark_unchanged();
        let mut greeting = place.greeting(exit);
        line.set_terms(greeting.terms);
        let request = exit.greeting(greeting, counts_marks);
        let datagrams = match timeout(ANSWER_TIME, ask(&mut asking, request)).await {
            Ok(Some((_, answer))) if answer.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                return unknown(exit);
            }
            Ok(Some((stream, answer))) if answer.headers().contains_key(LINE) => {
                seen.board.sends(other_control(exit, &answer));
                (flows.news(stream.id().into_inner()), answer.headers().contains_key(MARKS))
            }
            Ok(Some((_, answer))) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => {
                return Unreached::Busy.to_string();
            }
            Ok(Some(_)) => return "the other end is no exit of anabranch, or one of another version".to_owned(),
            Ok(None) => return lost(line),
            Err(_) => return "the exit does not answer".to_owned(),
        };
        was_up = true;
        bundle.add(line.clone());
        ways.add(way);
        seen.board.changes(greeting.number, greeting.terms);
        seen.board.up(greeting.number, line.report());
        let renewing = async {
            // They change until the proxy ends.
            while conditions.changed().await.is_ok() {
                greeting = place.greeting(exit);
                if line.set_terms(greeting.terms) {
                    seen.board.changes(greeting.number, greeting.terms);
                    bundle.fit();
                    let answer = timeout(ANSWER_TIME, ask(&mut asking, exit.greeting(greeting, counts_marks))).await;
                    let is_heard = matches!(&answer, Ok(Some((_, answer))) if answer.headers().contains_key(LINE));
                    if !is_heard {
                        // The next one begins with these terms.
                        line.close();
                    }
                }
            }
        };
        tokio::join!(line.exchange(bundle, datagrams, seen.onward.get()), renewing);
        std::future::pending().await
    };
    let reason = tokio::select! {
        _ = std::future::poll_fn(|context| keeping.poll_close(context)) => lost(line),
        () = flows.pass_on() => lost(line),
        reason = using => reason,
    };
    ways.remove(line);
    (reason, was_up)
}

/// The title of the control under which an exit sends, if it is another than was named.
fn other_control(exit: &Exit, answer: &Response<()>) -> Option<&'static str> {
    let name = answer.headers().get(CONTROL)?.to_str().ok()?;
    Protocol::named(name).filter(|control| control.name() != exit.protocol.name()).map(|control| control.title())
}

/// Why an exit does not serve this end.
fn unknown(exit: &Exit) -> String {
    match exit.token {
        Some(_) => Unreached::Unknown.to_string(),
        None => "the exit does not know the certificate, or knows clients by tokens alone".to_owned(),
    }
}

/// Why a connection was lost.
fn lost(line: &Line) -> String {
    let reason = line.quic().close_reason();
    if let Some(why) = reason.as_ref().and_then(certificate_refused) {
        return format!("the exit does not take the certificate: {why}");
    }
    match reason {
        Some(ConnectionError::ApplicationClosed(_)) => "the exit has closed the connection".to_owned(),
        Some(ConnectionError::TimedOut) => "no path answers any more".to_owned(),
        Some(ConnectionError::LocallyClosed) => "the path was silent".to_owned(),
        Some(other) => other.to_string(),
        None => "the exit breaks the rules of HTTP/3".to_owned(),
    }
}
