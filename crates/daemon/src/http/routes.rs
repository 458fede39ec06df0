//! The one list of what the HTTP interface has.

use anabranch_http::asked::{Kind, Parameter, Place};
use anabranch_http::routes::{Answer, Gives, Route};
use anabranch_http::{HTML, JSON};

use super::answers::{About, Changed, Explained, Found, History, Links, Neighbours, Published};
use super::handlers;
use super::metrics;
use super::rfc8345::Topology;
use super::site::Site;
use crate::topology::PathsShown;

/// The most sessions, changes or entries in an answer.
const MOST: u64 = 1000;

pub(super) const EVENTS: &str = "text/event-stream";

const fn most(usual: u64, most: u64, what: &'static str) -> Parameter {
    Parameter::query("limit", Kind::Whole { least: 1, most, usual: Some(usual) }, what)
}

const NUMBER: Kind = Kind::Whole { least: 0, most: u64::MAX, usual: None };

/// All that can be asked for.
pub(super) const ROUTES: &[Route<Site>] = &[
    Route {
        path: "/",
        summary: "The page, which shows all this and follows it",
        parameters: &[],
        gives: Gives::Other(HTML),
        answer: handlers::page,
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
        parameters: &[Parameter::query(
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
        gives: Gives::json::<About>(),
        answer: handlers::about,
    },
    Route {
        path: "/api/v1/topology",
        summary: "The network, as RFC 8345 and RFC 8795 describe it",
        parameters: &[],
        gives: Gives::json::<Topology>(),
        answer: handlers::topology,
    },
    Route {
        path: "/api/v1/links",
        summary: "The sums at the links that leave the node and have sessions",
        parameters: &[],
        gives: Gives::json::<Links>(),
        answer: handlers::links,
    },
    Route {
        path: "/api/v1/neighbours",
        summary: "The neighbours",
        parameters: &[],
        gives: Gives::json::<Neighbours>(),
        answer: handlers::neighbours,
    },
    Route {
        path: "/api/v1/paths",
        summary: "Paths over links that are up, with the groups that share links",
        parameters: &[
            Parameter { is_needed: true, ..Parameter::query("to", Kind::Text, "The node where the paths end.") },
            Parameter {
                is_needed: true,
                ..Parameter::query("from", Kind::Texts, "A node where paths begin; 64 at most.")
            },
            Parameter::query(
                "count",
                Kind::Whole { least: 1, most: 64, usual: Some(2) },
                "The most paths from each node.",
            ),
            Parameter::query("disjoint", Kind::Flag, "Whether paths from a node may share no link."),
            Parameter::query("nodes", Kind::Flag, "Whether paths that pass through one node are a group, too."),
        ],
        gives: Gives::json::<PathsShown>(),
        answer: handlers::paths,
    },
    Route {
        path: "/api/v1/items",
        summary: "The items that are published here, with their sources",
        parameters: &[
            Parameter::query("after", Kind::Text, "Only items with a name after this one."),
            most(100, MOST, "The most items in the answer."),
        ],
        gives: Gives::json::<Published>(),
        answer: handlers::items,
    },
    Route {
        path: "/api/v1/sessions",
        summary: "The sessions with their rates",
        parameters: &[
            Parameter::query("after", NUMBER, "Only sessions with a greater number."),
            Parameter::query("to", Kind::Text, "Only sessions to this node."),
            Parameter::query("name", Kind::Text, "Only the session with this name."),
            Parameter::query("application", Kind::Text, "Only sessions of this application."),
            Parameter::query("over", Kind::Text, "Only sessions with a path over this link."),
            most(100, MOST, "The most sessions in the answer."),
        ],
        gives: Gives::json::<Found>(),
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
        gives: Gives::json::<Explained>(),
        answer: handlers::session,
    },
    Route {
        path: "/api/v1/history",
        summary: "The rates of the last hour, or of less where there are many sessions",
        parameters: &[
            Parameter::query("since", Kind::Seconds, "Only entries from this time on, in seconds since 1970."),
            Parameter::query("session", NUMBER, "Only the rates of this session."),
            most(MOST, 3600, "The most entries in the answer; the latest are given."),
        ],
        gives: Gives::json::<History>(),
        answer: handlers::history,
    },
    Route {
        path: "/api/v1/changes",
        summary: "What has changed since a place in the changes",
        parameters: &[
            Parameter::query(
                "since",
                Kind::Text,
                "The `last` of an answer, or the id of an event. Without it: all that is kept.",
            ),
            most(MOST, 4096, "The most changes in the answer."),
        ],
        gives: Gives::json::<Changed>(),
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

#[cfg(test)]
mod tests {
    use anabranch_http::asked::Asked;
    use anabranch_http::routes::find;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_path_and_any_query_is_answered_or_refused(
            path in r"/(api/v1/)?(sessions|history|changes|metrics|[a-z%{}]{0,8})?(/[0-9a-z%]{0,24})?",
            query in r"(limit|since|after|to|sessions|%?[a-f0-9=&+]{0,6}){0,3}(=[-0-9a-z%.+&]{0,24}){0,2}",
        ) {
            if let Some((route, values)) = find(ROUTES, &path) {
                let asked = Asked::of(route.parameters, &values, &query, |_| Some("\u{e9}-1"));
                if let Ok(asked) = asked {
                    prop_assert!(asked.whole("limit").is_none_or(|limit| limit >= 1));
                    prop_assert!(asked.seconds("since").is_none_or(f64::is_finite));
                }
            }
        }
    }
}
