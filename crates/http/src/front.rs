//! From a request to an answer: who may ask, how large answers are held, and what stands on every answer.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::body::Incoming;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde_json::Value;

use crate::answer::{Body, whole};
use crate::asked::Asked;
use crate::problem::Problem;
use crate::room::Room;
use crate::routes::{Answer, Route, find};
use crate::{guard, openapi};

/// What a program shows.
pub trait Site: Send + Sync + Sized + 'static {
    /// The title of the description of its interface, and what it says.
    const TITLE: &'static str;
    #[allow(missing_docs)]
    const DESCRIPTION: &'static str;

    /// All that can be asked for.
    const ROUTES: &'static [Route<Self>];

    /// Where requests are let in.
    fn front(&self) -> &Front;
}

/// Where requests are let in.
pub struct Front {
    hosts: Vec<String>,
    hint: &'static str,
    room: Room,
    answered: Answered,
    document: OnceLock<Value>,
}

/// Numbers of answers since the start.
#[derive(Debug, Default)]
pub struct Answered {
    /// Answers with what was asked for.
    pub good: AtomicU64,
    /// Answers that say what is wrong.
    pub refused: AtomicU64,
}

impl Front {
    /// A front that may be asked by these names, beside `localhost`, and by any IP address. A request by another name
    /// is told to use an address, or what the hint says.
    pub fn new(hosts: Vec<String>, hint: &'static str) -> Self {
        Self { hosts, hint, room: Room::new(), answered: Answered::default(), document: OnceLock::new() }
    }

    /// The numbers of answers.
    pub fn answered(&self) -> &Answered {
        &self.answered
    }

    /// The description of all that can be asked for at a site.
    pub fn document<S: Site>(&self) -> &Value {
        self.document.get_or_init(openapi::document::<S>)
    }

    /// Answers a request for a site.
    pub(crate) async fn answer(&self, site: &impl Site, request: &Request<Incoming>) -> Response<Body> {
        let answer = match guard::check(request, &self.hosts, self.hint) {
            Ok(()) => self.asked(site, request).await,
            Err(problem) => Err(problem),
        };
        let count = if answer.is_ok() { &self.answered.good } else { &self.answered.refused };
        count.fetch_add(1, Ordering::Relaxed);
        let mut response = answer.unwrap_or_else(|problem| refused(&problem));
        guard::protect(response.headers_mut());
        response
    }

    async fn asked<S: Site>(&self, site: &S, request: &Request<Incoming>) -> Result<Response<Body>, Problem> {
        let Some((route, path)) = find(S::ROUTES, request.uri().path()) else {
            return Err(Problem::absent("there is nothing at this path; /openapi.json lists what there is"));
        };
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
        let asked = Asked::of(route.parameters, &path, request.uri().query().unwrap_or_default(), header)?;
        let mut answer = (route.answer)(site, &asked)?;
        if let Answer::Later(later) = answer {
            answer = later.await?;
        }
        match answer {
            Answer::Later(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the answer does not come")),
            Answer::Whole(kind, bytes) => Ok(whole(kind, self.room.held(bytes)?)),
            Answer::Ready(response) => Ok(response),
        }
    }
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
