//! What answers: from a request to an answer.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::asked::Asked;
use super::events::{Events, Id};
use super::page::Page;
use super::problem::Problem;
use super::room::Room;
use super::routes::{Answer, EVENTS, HTML, find};
use super::{guard, openapi};
use crate::control::Control;
use crate::shown::Names;
use crate::topology::Topology;
use crate::watch::Watch;

/// The most streams of events at a time; the other connections are for what is short.
const MOST_STREAMS: usize = 128;

/// The most searches for paths at a time.
const MOST_SEARCHES: usize = 4;

/// The body of an answer.
pub(super) type Body = Either<Full<Bytes>, Events>;

/// The parts of an agent that answers need.
pub(super) struct Site {
    control: Control,
    hosts: Vec<String>,
    page: Option<Page>,
    streams: Arc<Semaphore>,
    room: Room,
    searches: Arc<Semaphore>,
    document: OnceLock<Value>,
    answered: Answered,
}

/// Numbers of answers since the start.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// Answers with what was asked for.
    pub good: AtomicU64,
    /// Answers that say what is wrong.
    pub refused: AtomicU64,
}

impl Site {
    pub fn new(control: Control, hosts: Vec<String>, page: Option<&str>) -> Self {
        let [streams, searches] = [MOST_STREAMS, MOST_SEARCHES].map(|most| Arc::new(Semaphore::new(most)));
        let page = page.map(Page::new);
        Self {
            control,
            hosts,
            page,
            streams,
            room: Room::new(),
            searches,
            document: OnceLock::new(),
            answered: Answered::default(),
        }
    }

    pub fn watch(&self) -> &Watch {
        self.control.watch()
    }

    pub fn topology(&self) -> &Topology {
        self.control.topology()
    }

    pub fn names(&self) -> &Names {
        self.control.names()
    }

    /// The numbers of answers, and of streams of events that are open.
    pub fn answered(&self) -> (&Answered, usize) {
        (&self.answered, MOST_STREAMS - self.streams.available_permits())
    }

    /// The place after a change.
    pub fn id(&self, change: u64) -> Id {
        // In milliseconds, so that it is whole and differs from one start to the next.
        Id { start: (self.watch().start_s() * 1e3) as u64, change }
    }

    /// The description of all routes.
    pub fn document(&self) -> &Value {
        self.document.get_or_init(openapi::document)
    }

    /// A turn for a stream of events.
    pub fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("{MOST_STREAMS} streams of events are open, which is the most; ask /api/v1/changes");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        })
    }

    /// A turn for a search for paths.
    pub fn search(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.searches.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("{MOST_SEARCHES} searches for paths go on, which is the most; ask again");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
        })
    }

    /// Answers a request.
    pub async fn answer<B>(&self, request: &Request<B>) -> Response<Body> {
        let answer = self.asked(request).await;
        let count = if answer.is_ok() { &self.answered.good } else { &self.answered.refused };
        count.fetch_add(1, Ordering::Relaxed);
        let mut response = answer.unwrap_or_else(|problem| refused(&problem));
        guard::protect(response.headers_mut());
        response
    }

    async fn asked<B>(&self, request: &Request<B>) -> Result<Response<Body>, Problem> {
        guard::check(request, &self.hosts)?;
        let Some((route, path)) = find(request.uri().path()) else {
            return Err(Problem::absent("there is nothing at this path; /openapi.json lists what there is"));
        };
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
        let asked = Asked::of(route.parameters, &path, request.uri().query().unwrap_or_default(), header)?;
        let mut answer = (route.answer)(self, &asked)?;
        if let Answer::Later(later) = answer {
            answer = later.await?;
        }
        match answer {
            Answer::Later(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer does not come")),
            Answer::Whole(kind, bytes) => Ok(whole(kind, self.room.held(bytes)?)),
            Answer::Events(events) => {
                let mut response = Response::new(Either::Right(events));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
                Ok(response)
            }
            Answer::Page => {
                let page = self.page.as_ref().ok_or_else(|| {
                    Problem::absent("this agent was started without a page; /openapi.json lists what else there is")
                })?;
                let mut response = whole(HTML, page.text());
                response.headers_mut().insert("content-security-policy", page.policy());
                Ok(response)
            }
        }
    }
}

fn whole(kind: &'static str, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(bytes)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn refused(problem: &Problem) -> Response<Body> {
    let text = serde_json::to_vec(problem).map_or(Cow::Borrowed(&b"{}"[..]), Cow::Owned);
    let mut response = whole("application/problem+json", text.into_owned().into());
    *response.status_mut() = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    if problem.status == StatusCode::METHOD_NOT_ALLOWED.as_u16() {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
