//! Changes as server-sent events.
//!
//! The first event of a stream, `begin`, or `missed` after a gap, says that the state is to be asked for anew; each
//! `change` is one of the changes. The id is the start of the agent with the number of the change. A reader goes through
//! what is kept at its own pace, so that a slow one costs nothing.

use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::routes::EVENTS;
use crate::feed::{Feed, Heard, Reader};

/// After this time without an event a comment is sent, so that neither side takes the connection for dead.
const QUIET: Duration = Duration::from_secs(10);

/// Readers connect again after this time, in milliseconds.
const RETRY_MS: u32 = 1000;

/// A piece of the stream has this many bytes, if there are as many; an event is never cut.
const MOST_PIECE: usize = 16 << 10;

/// The place of a reader in the changes, as text: the start of the agent, and the number of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id {
    pub start: u64,
    pub change: u64,
}

impl Id {
    pub fn text(self) -> String {
        format!("{}-{}", self.start, self.change)
    }

    /// Reads an id; `None` if it is none.
    pub fn read(text: &str) -> Option<Self> {
        let (start, change) = text.split_once('-')?;
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        Some(Self { start: number(start)?, change: number(change)? })
    }

    /// A reader after this place, at an agent with a start and changes; `None` if the place is not one of these.
    pub fn reader(self, start: u64, feed: &Feed) -> Option<Reader> {
        (self.start == start && self.change <= feed.last()).then(|| feed.after(self.change))
    }
}

/// What is yet to be told to a reader, with what it needs.
type Next = Pin<Box<dyn Future<Output = (Option<Bytes>, Told)> + Send>>;

/// A stream of events, as the body of an answer.
pub(super) struct Events {
    next: Option<Next>,
    /// The stream counts as long as it is there.
    _turn: OwnedSemaphorePermit,
}

struct Told {
    reader: Reader,
    start: u64,
    /// What is said at the begin.
    first: Option<String>,
}

impl Events {
    /// Events after a place, or from now on.
    pub fn new(start: u64, feed: &Feed, after: Option<Id>, turn: OwnedSemaphorePermit) -> Self {
        let known = after.and_then(|after| after.reader(start, feed));
        let has_missed = after.is_some() && known.is_none();
        let is_new = known.is_none();
        let reader = known.unwrap_or_else(|| feed.now());
        let mut first = format!("retry: {RETRY_MS}\n\n");
        let id = Id { start, change: reader.after() };
        if has_missed {
            event(&mut first, id, "missed", &json!({ "missed": null }).to_string());
        } else if is_new {
            event(&mut first, id, "begin", &json!({ "last": id.text() }).to_string());
        }
        let told = Told { reader, start, first: Some(first) };
        Self { next: Some(Box::pin(told.next())), _turn: turn }
    }

    /// The stream as an answer.
    pub fn answer(self) -> Response<anabranch_http::Body> {
        let mut response = Response::new(self.boxed_unsync());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
        response
    }
}

impl Told {
    /// The next piece of the stream, which ends with the agent.
    async fn next(mut self) -> (Option<Bytes>, Self) {
        if let Some(first) = self.first.take() {
            return (Some(first.into()), self);
        }
        let mut piece = String::new();
        match timeout(QUIET, self.reader.next()).await {
            Ok(Some(heard)) => self.put(&mut piece, &heard),
            Ok(None) => return (None, self),
            Err(_) => piece.push_str(": still here\n\n"),
        }
        while piece.len() < MOST_PIECE {
            let Some(heard) = self.reader.next_now() else { break };
            self.put(&mut piece, &heard);
        }
        (Some(piece.into()), self)
    }

    fn put(&self, piece: &mut String, heard: &Heard) {
        let id = Id { start: self.start, change: self.reader.after() };
        match heard {
            Heard::Missed(missed) => event(piece, id, "missed", &json!({ "missed": missed }).to_string()),
            Heard::Change(dated) => event(piece, id, "change", &json!(dated).to_string()),
        }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = &mut self.next else { return Poll::Ready(None) };
        let (piece, told) = ready!(next.as_mut().poll(context));
        self.next = piece.is_some().then(|| -> Next { Box::pin(told.next()) });
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// Writes an event; its data are one line, as JSON is.
fn event(into: &mut String, id: Id, kind: &str, data: &str) {
    let _ = write!(into, "id: {}\nevent: {kind}\ndata: {data}\n\n", id.text());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;
    use crate::changes::Change;

    fn turn() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    fn add(feed: &Feed, count: u64) {
        feed.add(1.0, (0..count).map(|days| Change::Certificate { days }));
    }

    /// The next piece of a stream.
    async fn piece(events: &mut Events) -> String {
        let frame = events.frame().await.unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_stream_begins_with_the_place_and_continues_with_changes() {
        let feed = Feed::default();
        add(&feed, 2);
        let mut events = Events::new(7, &feed, None, turn());
        let first = piece(&mut events).await;
        assert_eq!(first, "retry: 1000\n\nid: 7-2\nevent: begin\ndata: {\"last\":\"7-2\"}\n\n");
        add(&feed, 1);
        let next = piece(&mut events).await;
        assert!(next.starts_with("id: 7-3\nevent: change\ndata: {\"change\":3,"), "{next}");
        // With an id that is known the changes after it are told, and nothing else.
        let mut again = Events::new(7, &feed, Some(Id { start: 7, change: 1 }), turn());
        assert_eq!(piece(&mut again).await, "retry: 1000\n\n");
        let next = piece(&mut again).await;
        assert_eq!((next.matches("event: change").count(), next.contains("id: 7-3\n")), (2, true), "{next}");
        // An id of an earlier start, or of a change that is yet to come, is a gap.
        for unknown in [Id { start: 6, change: 1 }, Id { start: 7, change: 4 }] {
            let first = piece(&mut Events::new(7, &feed, Some(unknown), turn())).await;
            assert!(first.ends_with("id: 7-3\nevent: missed\ndata: {\"missed\":null}\n\n"), "{first}");
        }
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_that_it_missed_some_and_hears_the_rest() {
        let feed = Feed::default();
        let mut events = Events::new(7, &feed, None, turn());
        piece(&mut events).await;
        add(&feed, 10_000);
        let next = piece(&mut events).await;
        // Of 10,000 the last 4096 are kept.
        assert!(next.starts_with("id: 7-5904\nevent: missed\ndata: {\"missed\":5904}\n\n"), "{next}");
        let mut heard = next.matches("event: change").count();
        assert!(next.len() < MOST_PIECE + 1000, "a piece is short");
        while heard < 4096 {
            heard += piece(&mut events).await.matches("event: change").count();
        }
        assert_eq!(heard, 4096);
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = Id { start: 1_700_000_000_000, change: 17 };
        assert_eq!((id.text(), Id::read(&id.text())), ("1700000000000-17".to_owned(), Some(id)));
        for text in ["", "17", "-", "a-1", "1-a", "1-+1", "1--1", "1-99999999999999999999999"] {
            assert_eq!(Id::read(text), None, "{text}");
        }
    }
}
