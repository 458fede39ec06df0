//! What can be asked for.

use anabranch_http::asked::{Asked, Kind, Parameter};
use anabranch_http::page::Page;
use anabranch_http::problem::Problem;
use anabranch_http::prometheus::TEXT;
use anabranch_http::routes::{Answer, Gives, Route};
use anabranch_http::{Front, HTML, JSON, Site, json};

use super::metrics;
use super::shown::{Open, ShownClient, ShownPeer, Shows, Status, now_s};

/// A program that is shown.
pub(super) struct Watched<S> {
    pub shows: S,
    pub start_s: f64,
    front: Front,
    page: Option<Page>,
}

impl<S: Shows> Watched<S> {
    pub fn new(shows: S, page: Option<&str>) -> Self {
        Self { shows, start_s: now_s(), front: Front::new(Vec::new(), ""), page: page.map(Page::new) }
    }

    pub fn status(&self) -> Status {
        Status {
            kind: self.shows.kind(),
            version: env!("CARGO_PKG_VERSION"),
            url: self.shows.url(),
            control: self.shows.control(),
            start_s: self.start_s,
            time_s: now_s(),
            waiting_bytes: self.shows.waiting(),
            peers: self.shows.peers().into_iter().map(ShownPeer::of).collect(),
            clients: self.shows.clients().iter().map(|client| ShownClient::of(client)).collect(),
        }
    }
}

impl<S: Shows> Site for Watched<S> {
    const TITLE: &'static str = "anabranch proxy, relay and exit";
    const DESCRIPTION: &'static str = "What a proxy, a relay or an exit of anabranch shows: its lines, and the flows over them. \
        Nothing can be changed.";
    const ROUTES: &'static [Route<Self>] = &[
        Route {
            path: "/",
            summary: "The page, which shows all this and follows it",
            parameters: &[],
            gives: Gives::Other(HTML),
            answer: |site, _| {
                site.page.as_ref().map(Page::answer).map(Answer::Ready).ok_or_else(|| {
                    Problem::absent("this program was started without a page; /openapi.json lists what else there is")
                })
            },
        },
        Route {
            path: "/openapi.json",
            summary: "This description",
            parameters: &[],
            gives: Gives::Other(JSON),
            answer: |site, _| json(site.front.document::<Self>()).map(|text| Answer::Whole(JSON, text)),
        },
        Route {
            path: "/metrics",
            summary: "Figures in the text format of Prometheus",
            parameters: &[],
            gives: Gives::Other(TEXT),
            answer: |site, _| Ok(Answer::Whole(TEXT, metrics::text(&site.status(), &site.front).into_bytes())),
        },
        Route {
            path: "/api/v1/status",
            summary: "The program, and those to which it is connected with their lines",
            parameters: &[],
            gives: Gives::json::<Status>(),
            answer: |site, _| json(&site.status()).map(|text| Answer::Whole(JSON, text)),
        },
        Route {
            path: "/api/v1/flows",
            summary: "The flows that are open, those first that have carried the most",
            parameters: &[Parameter::query(
                "limit",
                Kind::Whole { least: 1, most: 10_000, usual: Some(100) },
                "The most flows in the answer.",
            )],
            gives: Gives::json::<Open>(),
            answer: flows,
        },
    ];

    fn front(&self) -> &Front {
        &self.front
    }
}

fn flows<S: Shows>(site: &Watched<S>, asked: &Asked) -> Result<Answer, Problem> {
    let most = asked.whole("limit").unwrap_or(1) as usize;
    json(&Open::of(&site.shows, most)).map(|text| Answer::Whole(JSON, text))
}
