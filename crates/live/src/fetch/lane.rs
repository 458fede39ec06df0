//! One way to a mirror: a connection over one interface, on which chunks are requested in runs.
//!
//! A mirror that is reached over several interfaces has a lane for each. A lane looks what the mirror has, reports it,
//! and then waits for orders. It carries out one order at a time; another order replaces it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch_transfer::Chunks;
use tokio::sync::mpsc;

use super::source::{Common, Event};
use crate::web::{Body, Connection, Dialer, Facts, Follower, Range, WebError, WebUrl};

/// Orders that wait: a lane has at most one, and one that replaces it.
const MOST_ORDERS: usize = 2;

/// What a mirror has, and how to have it sent.
#[derive(Debug)]
pub struct Offer {
    /// URL to which redirects have led.
    pub url: WebUrl,
    pub facts: Facts,
    /// Takes the chunks that the mirror is to send; when it is dropped, the connection ends.
    pub orders: mpsc::Sender<Order>,
    /// Addresses of both ends, for readers.
    pub label: String,
    /// Time in which the mirror accepted the connection.
    pub round_trip: Duration,
}

/// Chunks that a mirror is to send in one answer.
#[derive(Debug)]
pub struct Order {
    /// Numbers of the chunks in order: consecutive, unless the mirror sends the whole file.
    pub wanted: Vec<u32>,
    pub chunks: Arc<Chunks>,
    /// Whether the mirror is asked for the whole file, since it sends no parts.
    pub is_whole: bool,
    /// Counter of the bytes that arrive.
    pub received: Arc<AtomicU64>,
}

/// The reason why an order was not carried out.
enum Stop {
    Web(WebError),
    /// Another order replaces it.
    Replaced(Order),
    /// The fetch does not want this connection any more.
    CutOff,
}

impl From<WebError> for Stop {
    fn from(error: WebError) -> Self {
        Self::Web(error)
    }
}

/// A lane with its connection, if it has one now.
struct Lane<'a> {
    number: usize,
    common: &'a Common,
    dialer: &'a Dialer,
    url: WebUrl,
    /// What the mirror said of the file at first.
    facts: Facts,
    connection: Option<Connection>,
    orders: mpsc::Receiver<Order>,
}

/// Connects to a mirror and carries out orders. Returns the event to report when it is lost; `None` once the file is
/// complete.
pub async fn serve_until_lost(number: usize, url: &WebUrl, dialer: &Dialer, common: &Common) -> Option<Event> {
    let ended = |error: WebError| {
        let why = error.to_string();
        Some(if error.is_passing() {
            Event::Lost { source: number, why }
        } else {
            Event::Refused { source: number, why }
        })
    };
    let first = 0..=0;
    let (connection, url, facts, body) = match (Follower { dialer, url }).get(Some(&first)).await {
        Ok(found) => found,
        Err(error) => return ended(error),
    };
    let (label, round_trip) = (connection.label.clone(), connection.round_trip);
    // A server without ranges has begun to send the whole file, which is not wanted yet.
    let connection = if facts.takes_ranges { drained(connection, body).await } else { None };
    let (sender, orders) = mpsc::channel(MOST_ORDERS);
    let offer = Offer { url: url.clone(), facts: facts.clone(), orders: sender, label, round_trip };
    let offered = Event::Offered { source: number, offer: Box::new(offer) };
    if common.events.send(offered).await.is_err() {
        return None;
    }
    let mut lane = Lane { number, common, dialer, url, facts, connection, orders };
    tokio::select! {
        stop = lane.carry_out_all() => match stop {
            Stop::Web(error) => ended(error),
            Stop::Replaced(_) | Stop::CutOff => {
                Some(Event::Lost { source: number, why: "it sent nothing that was asked for".to_owned() })
            }
        },
        () = common.there() => None,
    }
}

/// The connection after the rest of a short body, if it can be used again.
async fn drained(mut connection: Connection, mut body: Body) -> Option<Connection> {
    while let Ok(more) = body.next().await {
        if more.is_none() {
            return connection.is_reusable().await.then_some(connection);
        }
    }
    None
}

impl Lane<'_> {
    /// Carries out orders until one fails.
    async fn carry_out_all(&mut self) -> Stop {
        let mut next = self.orders.recv().await;
        while let Some(order) = next {
            next = match self.carry_out(&order).await {
                Ok(()) => self.orders.recv().await,
                // The rest of the answer to the first order is on its way on this connection.
                Err(Stop::Replaced(order)) => {
                    self.connection = None;
                    Some(order)
                }
                Err(stop) => return stop,
            };
        }
        Stop::CutOff
    }

    async fn carry_out(&mut self, order: &Order) -> Result<(), Stop> {
        let Order { wanted, chunks, is_whole, .. } = order;
        let (Some(&first), Some(&last)) = (wanted.first(), wanted.last()) else { return Ok(()) };
        let extent = |chunk| chunks.extent(chunk).expect("the schedule knows its chunks");
        let ((start, _), (end, length)) = (extent(first), extent(last));
        let range = start..=end + length as u64 - 1;
        let (mut connection, mut body) = self.answer((!is_whole).then_some(&range), chunks).await?;
        let sent = if *is_whole { 0..chunks.len() } else { first..last + 1 };
        for chunk in sent {
            let bytes = self.chunk(&mut body, extent(chunk).1, &order.received).await?;
            if wanted.binary_search(&chunk).is_ok() {
                let bytes = chunks.fit(chunk, &bytes).then_some(bytes);
                // A fetch that has ended needs no report.
                let _ = self.common.events.send(Event::Arrived { source: self.number, chunk, bytes }).await;
                body.resume();
            }
        }
        body.end().await?;
        self.connection = connection.is_reusable().await.then_some(connection);
        Ok(())
    }

    /// Requests a range, or the whole file; on a new connection if the old one was closed meanwhile.
    async fn answer(&mut self, range: Option<&Range>, chunks: &Chunks) -> Result<(Connection, Body), WebError> {
        let kept = self.connection.take();
        let is_kept = kept.is_some();
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::open(self.dialer, &self.url).await?,
        };
        let answered = match connection.get(&self.url, range).await {
            // Servers close a connection that was idle for some time.
            Err(WebError::Lost(_) | WebError::Short { .. }) if is_kept => {
                connection = Connection::open(self.dialer, &self.url).await?;
                connection.get(&self.url, range).await
            }
            answered => answered,
        };
        let (facts, body) = answered?;
        self.check(&facts, range.is_some(), chunks)?;
        Ok((connection, body))
    }

    /// Checks that the answer is from the file that the mirror had at first.
    fn check(&self, facts: &Facts, is_range: bool, chunks: &Chunks) -> Result<(), WebError> {
        use crate::web::AnswerError::{Changed, NoRanges, WrongLength};
        if is_range && !facts.takes_ranges {
            return Err(NoRanges.into());
        }
        if let Some(found) = facts.size.filter(|&size| size != chunks.size()) {
            return Err(WrongLength { found, asked: chunks.size() }.into());
        }
        if chunks.is_verified() || facts.is_same(&self.facts) { Ok(()) } else { Err(Changed.into()) }
    }

    /// Reads the bytes of a chunk.
    async fn chunk(&mut self, body: &mut Body, length: usize, received: &AtomicU64) -> Result<Vec<u8>, Stop> {
        let mut chunk = body.take_rest(length);
        while chunk.len() < length {
            let piece = tokio::select! {
                biased;
                order = self.orders.recv() => return Err(order.map_or(Stop::CutOff, Stop::Replaced)),
                piece = body.next() => piece?,
            };
            let Some(piece) = piece else {
                return Err(WebError::Short { came: chunk.len() as u64, asked: length as u64 }.into());
            };
            received.fetch_add(piece.len() as u64, Ordering::Relaxed);
            let fits = piece.len().min(length - chunk.len());
            chunk.extend_from_slice(&piece[..fits]);
            body.put_back(piece.slice(fits..));
        }
        Ok(chunk)
    }
}
