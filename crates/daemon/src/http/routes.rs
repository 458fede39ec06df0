//! The one list of what the HTTP interface has.

use std::pin::Pin;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::answers::{About, Changed, Explained, Found, History, Links, Neighbours, Published};
use super::asked::{Asked, Kind, Parameter, Place};
use super::events::Events;
use super::handlers;
use super::metrics;
use super::problem::Problem;
use super::rfc8345::Topology;
use super::site::Site;
use crate::topology::PathsShown;

/// The most sessions, changes or entries in an answer.
const MOST: u64 = 1000;

/// Something that can be asked for.
pub(super) struct Route {
    /// Its path; a part in braces is a parameter.
    pub path: &'static str,
    pub summary: &'static str,
    pub parameters: &'static [Parameter],
    pub gives: Gives,
    pub answer: fn(&Site, &Asked) -> Result<Answer, Problem>,
}

/// What a route gives.
pub(super) enum Gives {
    /// JSON of a type.
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// Something else, of a media type.
    Other(&'static str),
}

/// An answer.
pub(super) enum Answer {
    /// JSON or text of a media type.
    Whole(&'static str, Vec<u8>),
    /// The page.
    Page,
    /// A stream of events.
    Events(Events),
    /// An answer that takes a while.
    Later(Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>),
}

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";
pub(super) const HTML: &str = "text/html; charset=utf-8";

const fn json<T: JsonSchema>() -> Gives {
    Gives::Json(SchemaGenerator::subschema_for::<T>)
}

const fn query(name: &'static str, kind: Kind, what: &'static str) -> Parameter {
    Parameter { name, place: Place::Query, kind, what, is_needed: false }
}

const fn most(usual: u64, most: u64, what: &'static str) -> Parameter {
    query("limit", Kind::Whole { least: 1, most, usual: Some(usual) }, what)
}

const NUMBER: Kind = Kind::Whole { least: 0, most: u64::MAX, usual: None };

/// All that can be asked for.
pub(super) const ROUTES: &[Route] = &[
    Route {
        path: "/",
        summary: "The page, which shows all this and follows it",
        parameters: &[],
        gives: Gives::Other(HTML),
        answer: |_, _| Ok(Answer::Page),
    },
    Route {
        path: "/openapi.json",
        summary: "This description",
        parameters: &[],
        gives: Gives::Other(JSON),
        answer: handlers::document,
    },
    Route {
        path: "/metrics",
        summary: "Figures in the text format of Prometheus",
        parameters: &[query(
            "sessions",
            Kind::Whole { least: 0, most: 20_000, usual: Some(metrics::USUAL_SESSIONS) },
            "The most sessions, paths to other nodes and links that have series of their own.",
        )],
        gives: Gives::Other(metrics::TEXT),
        answer: |site, asked| {
            let most = asked.whole("sessions").unwrap_or(metrics::USUAL_SESSIONS);
            Ok(Answer::Whole(metrics::TEXT, metrics::text(site, most as usize).into_bytes()))
        },
    },
    Route {
        path: "/api/v1/agent",
        summary: "The agent itself",
        parameters: &[],
        gives: json::<About>(),
        answer: handlers::about,
    },
    Route {
        path: "/api/v1/topology",
        summary: "The network, as RFC 8345 and RFC 8795 describe it",
        parameters: &[],
        gives: json::<Topology>(),
        answer: handlers::topology,
    },
    Route {
        path: "/api/v1/links",
        summary: "The sums at the links that leave the node and have sessions",
        parameters: &[],
        gives: json::<Links>(),
        answer: handlers::links,
    },
    Route {
        path: "/api/v1/neighbours",
        summary: "The neighbours",
        parameters: &[],
        gives: json::<Neighbours>(),
        answer: handlers::neighbours,
    },
    Route {
        path: "/api/v1/paths",
        summary: "Paths over links that are up, with the groups that share links",
        parameters: &[
            Parameter { is_needed: true, ..query("to", Kind::Text, "The node where the paths end.") },
            Parameter { is_needed: true, ..query("from", Kind::Texts, "A node where paths begin; 64 at most.") },
            query("count", Kind::Whole { least: 1, most: 64, usual: Some(2) }, "The most paths from each node."),
            query("disjoint", Kind::Flag, "Whether paths from a node may share no link."),
            query("nodes", Kind::Flag, "Whether paths that pass through one node are a group, too."),
        ],
        gives: json::<PathsShown>(),
        answer: handlers::paths,
    },
    Route {
        path: "/api/v1/items",
        summary: "The items that are published here, with their sources",
        parameters: &[
            query("after", Kind::Text, "Only items with a name after this one."),
            most(100, MOST, "The most items in the answer."),
        ],
        gives: json::<Published>(),
        answer: handlers::items,
    },
    Route {
        path: "/api/v1/sessions",
        summary: "The sessions with their rates",
        parameters: &[
            query("after", NUMBER, "Only sessions with a greater number."),
            query("to", Kind::Text, "Only sessions to this node."),
            query("name", Kind::Text, "Only the session with this name."),
            query("application", Kind::Text, "Only sessions of this application."),
            query("over", Kind::Text, "Only sessions with a path over this link."),
            most(100, MOST, "The most sessions in the answer."),
        ],
        gives: json::<Found>(),
        answer: handlers::sessions,
    },
    Route {
        path: "/api/v1/sessions/{number}",
        summary: "One session, and why it has no more",
        parameters: &[Parameter {
            name: "number",
            place: Place::Path,
            kind: NUMBER,
            what: "The number of the session at this agent.",
            is_needed: true,
        }],
        gives: json::<Explained>(),
        answer: handlers::session,
    },
    Route {
        path: "/api/v1/history",
        summary: "The rates of the last hour, or of less where there are many sessions",
        parameters: &[
            query("since", Kind::Seconds, "Only entries from this time on, in seconds since 1970."),
            query("session", NUMBER, "Only the rates of this session."),
            most(MOST, 3600, "The most entries in the answer; the latest are given."),
        ],
        gives: json::<History>(),
        answer: handlers::history,
    },
    Route {
        path: "/api/v1/changes",
        summary: "What has changed since a place in the changes",
        parameters: &[
            query("since", Kind::Text, "The `last` of an answer, or the id of an event. Without it: all that is kept."),
            most(MOST, 4096, "The most changes in the answer."),
        ],
        gives: json::<Changed>(),
        answer: handlers::changes,
    },
    Route {
        path: "/api/v1/events",
        summary: "Changes as they come, as server-sent events",
        parameters: &[Parameter {
            name: "last-event-id",
            place: Place::Header,
            kind: Kind::Text,
            what: "The id of the last event that is known; later ones are told.",
            is_needed: false,
        }],
        gives: Gives::Other(EVENTS),
        answer: handlers::events,
    },
];

/// The route of a path, with the values of its parameters there.
pub(super) fn find(path: &str) -> Option<(&'static Route, Vec<(&'static str, &str)>)> {
    ROUTES.iter().find_map(|route| Some((route, values(route.path, path)?)))
}

/// The values of the parts of a pattern that are in braces.
fn values<'a>(pattern: &'static str, path: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    let mut found = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(found),
            (Some(wanted), Some(given)) => match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                Some(name) if !given.is_empty() => found.push((name, given)),
                None if wanted == given => {}
                _ => return None,
            },
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_path_and_any_query_is_answered_or_refused(
            path in r"/(api/v1/)?(sessions|history|changes|metrics|[a-z%{}]{0,8})?(/[0-9a-z%]{0,24})?",
            query in r"(limit|since|after|to|sessions|%?[a-f0-9=&+]{0,6}){0,3}(=[-0-9a-z%.+&]{0,24}){0,2}",
        ) {
            if let Some((route, values)) = find(&path) {
                let asked = Asked::of(route.parameters, &values, &query, |_| Some("\u{e9}-1"));
                if let Ok(asked) = asked {
                    prop_assert!(asked.whole("limit").is_none_or(|limit| limit >= 1));
                    prop_assert!(asked.seconds("since").is_none_or(f64::is_finite));
                }
            }
        }
    }

    #[test]
    fn a_path_finds_its_route() {
        let path = |path| find(path).map(|(route, values)| (route.path, values));
        assert_eq!(path("/"), Some(("/", vec![])));
        assert_eq!(path("/api/v1/sessions/17"), Some(("/api/v1/sessions/{number}", vec![("number", "17")])));
        for none in ["", "//", "/metrics/", "/api/v1", "/api/v1/sessions/", "/api/v1/sessions/1/2", "/Metrics"] {
            assert_eq!(path(none), None, "{none}");
        }
    }
}
