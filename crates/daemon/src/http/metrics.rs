//! The figures of an agent for Prometheus.
//!
//! Names and units are as Prometheus wants them: rates are in bytes a second. The number of series is bounded: with more
//! sessions of the agent's own, or more links that limit some, the largest have series of their own, and one figure says
//! how many are left out. Sessions of applications come and go, so that they are added up by application.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use anabranch_agents::Counts;
use anabranch_http::prometheus::{Kind, Text};

use super::site::Site;
use crate::shown::{AskedFor, Limit, Measured, Session, State, Total};
use crate::watch::Present;

pub(super) use anabranch_http::prometheus::TEXT;

/// The most sessions, targets, applications and links that have series, if a request does not say it.
pub(super) const USUAL_SESSIONS: u64 = 100;

/// All states of a neighbour.
const NEIGHBOUR_STATES: [&str; 4] = ["up", "waiting", "given-up", "held-off"];

/// All states of a session.
const SESSION_STATES: [&str; 3] = ["active", "waiting", "leaving"];

use Kind::{Counter, Gauge};

/// The figures, with series for at most so many sessions and links.
pub(super) fn text(site: &Site, most: usize) -> String {
    let present = site.watch().present();
    let mut text = Text::default();
    agent(&mut text, &present, site.watch().start_s());
    neighbours(&mut text, &present.state);
    links(&mut text, &present.state);
    sessions(&mut text, &present.state, most);
    limits(&mut text, &present.state, most);
    asked_for(&mut text, present.state.asked_for);
    packets(&mut text, present.state.counts);
    let (lasting, passing) = site.names().refused();
    let series = [("lasting", lasting), ("passing", passing)].map(|(kind, count)| ([("kind", kind)], count as f64));
    let help = "Requests for sessions that were refused for good (lasting) or for the moment (passing).";
    text.family("anabranch_agent_refused_requests_total", Counter, help, series);
    http(&mut text, site);
    text.finish()
}

fn agent(text: &mut Text, present: &Present, start_s: f64) {
    let State { node, protocol, .. } = &*present.state;
    let about = [("version", env!("CARGO_PKG_VERSION")), ("node", node), ("protocol", protocol)];
    text.family(
        "anabranch_agent_build_info",
        Gauge,
        "The version of the agent, its node and its protocol.",
        [(about, 1.0)],
    );
    let mut one = |name: &str, help: &str, value: f64| text.one(&format!("anabranch_agent_{name}"), Gauge, help, value);
    one("start_time_seconds", "Start of the agent, in seconds since 1970.", start_s);
    one("snapshot_time_seconds", "Time at which these figures were so, in seconds since 1970.", present.time_s);
    one("snapshot_processor_seconds", "Processor time that it took to gather these figures.", present.took_s);
    let until_s = present.state.certificate_until_s;
    one("certificate_expiry_timestamp_seconds", "End of the certificate, in seconds since 1970.", until_s);
    let flag = |is: bool| f64::from(u8::from(is));
    one("draining", "Whether the agent makes ready to end.", flag(present.state.is_draining));
    let in_flight = present.state.packets_in_flight as f64;
    one("packets_in_flight", "Control packets that the agent waits for.", in_flight);
    if let Some(enforcement) = &present.state.enforcement {
        let help = "Number of sessions whose traffic is kept to their rates.";
        one("enforced_sessions", help, enforcement.sessions as f64);
        let help = "Whether traffic is not kept to rates as it should be.";
        one("enforcement_problem", help, flag(enforcement.problem.is_some()));
        let help = "Commands that the kernel refused.";
        text.one("anabranch_agent_refused_commands_total", Counter, help, enforcement.refused as f64);
    }
}

fn neighbours(text: &mut Text, state: &State) {
    let all = || state.neighbours.iter();
    let help = "Whether there is a connection with the neighbour.";
    let up = all().map(|neighbour| ([("neighbour", &*neighbour.node)], f64::from(u8::from(neighbour.state == "up"))));
    text.family("anabranch_agent_neighbour_up", Gauge, help, up);
    let states = all().flat_map(|neighbour| {
        NEIGHBOUR_STATES.map(|state| {
            let is_it = f64::from(u8::from(neighbour.state == state));
            ([("neighbour", &*neighbour.node), ("state", state)], is_it)
        })
    });
    text.family(
        "anabranch_agent_neighbour_state",
        Gauge,
        "1 for the state of the neighbour, 0 for the others.",
        states,
    );
    let waiting = all().map(|neighbour| ([("neighbour", &*neighbour.node)], neighbour.waiting as f64));
    let help = "Messages that the neighbour has not acknowledged.";
    text.family("anabranch_agent_neighbour_unacknowledged_messages", Gauge, help, waiting);
}

/// The sums at the links of the agent that have sessions.
fn links(text: &mut Text, state: &State) {
    let labels = |link: &'_ crate::shown::Link| -> [(&'static str, String); 2] {
        [("link", link.link.clone()), ("to", link.to.clone())]
    };
    let named: Vec<_> = state.links.iter().map(labels).collect();
    let mut put = |name: &str, help: &str, value: &dyn Fn(&crate::shown::Link) -> f64| {
        let series = state.links.iter().zip(&named).map(|(link, named)| {
            let [(link_label, name), (to_label, to)] = named;
            ([(*link_label, &**name), (*to_label, &**to)], value(link))
        });
        text.family(&format!("anabranch_agent_link_{name}"), Gauge, help, series);
    };
    put("capacity_bytes_per_second", "Capacity that the link divides among sessions.", &|link| {
        link.capacity_bps.unwrap_or(f64::INFINITY) / 8.0
    });
    put("claims", "Sum of the weights of all sessions on the link.", &|link| link.claims);
    put("limited_claims", "Sum of the weights of the sessions that the link limits.", &|link| link.claims_limited_here);
    let help = "Sum of the reserved parts of all sessions on the link.";
    put("reserved_bytes_per_second", help, &|link| link.reserved_bps / 8.0);
}

fn sessions(text: &mut Text, state: &State, most: usize) {
    let count = |wanted: &str| state.sessions.iter().filter(|session| session.state == wanted).count() as f64;
    let states = SESSION_STATES.map(|state| ([("state", state)], count(state)));
    text.family("anabranch_agent_sessions", Gauge, "Number of sessions.", states);
    let rate = "granted_bytes_per_second";
    let all: f64 = state.sessions.iter().map(|session| session.rate_bps).sum();
    text.one(&format!("anabranch_agent_{rate}"), Gauge, "Granted rates of all sessions together.", all / 8.0);
    let is_short = |session: &Session| session.demand_bps.is_some_and(|demand| session.rate_bps < demand * 0.999);
    let short = state.sessions.iter().filter(|session| is_short(session)).count();
    let help = "Number of sessions that have less than they ask for.";
    text.one("anabranch_agent_unmet_sessions", Gauge, help, short as f64);

    let mut own: Vec<&Session> = state
        .sessions
        .iter()
        .map(|session| &**session)
        .filter(|it| it.name.is_some() && it.application.is_none())
        .collect();
    let left_out = own.len().saturating_sub(most);
    own.sort_by(|one, other| other.rate_bps.total_cmp(&one.rate_bps).then(one.number.cmp(&other.number)));
    own.truncate(most);
    let mut put = |name: &str, help: &str, value: &dyn Fn(&Session) -> Option<f64>| {
        let series = own.iter().filter_map(|session| {
            let labels = [("session", session.name.as_deref().unwrap_or_default()), ("to", &*session.to)];
            Some((labels, value(session)?))
        });
        text.family(&format!("anabranch_agent_session_{name}"), Gauge, help, series);
    };
    put(rate, "Granted rate of a session of the agent's own.", &|session| Some(session.rate_bps / 8.0));
    put("demand_bytes_per_second", "Rate that is enough for the session.", &|session| {
        session.demand_bps.map(|bps| bps / 8.0)
    });
    put("weight", "Weight of the session relative to others.", &|session| Some(session.weight));
    put("working_paths", "Number of paths on which packets get through.", &|session| {
        Some(session.paths.iter().filter(|path| path.works).count() as f64)
    });
    put("paths", "Number of paths.", &|session| Some(session.paths.len() as f64));

    measured(text, &own);

    // The rest by application and by target.
    by(text, state, most, ("application", "of an application"), |session| session.application.as_deref());
    by(text, state, most, ("target", "to a node"), |session| Some(&session.to));
    let help =
        "Number of sessions of the agent's own without series, as others have larger rates; ?sessions= asks for more.";
    text.one("anabranch_agent_sessions_left_out", Gauge, help, left_out as f64);
}

/// What is measured of the sessions whose traffic is kept to their rates.
fn measured(text: &mut Text, own: &[&Session]) {
    let mut put = |name: &str, kind: Kind, help: &str, value: &dyn Fn(&Measured) -> f64| {
        let series = own.iter().filter_map(|session| {
            let mut all = session.paths.iter().filter_map(|path| path.measured.as_ref()).peekable();
            all.peek()?;
            let labels = [("session", session.name.as_deref().unwrap_or_default()), ("to", &*session.to)];
            Some((labels, all.map(value).sum()))
        });
        text.family(&format!("anabranch_agent_session_{name}"), kind, help, series);
    };
    put("measured_bytes_per_second", Gauge, "Rate of the traffic of the session over the last second.", &|measured| {
        measured.rate_bps / 8.0
    });
    put("waiting_bytes", Gauge, "Bytes that wait in queues of the session.", &|measured| measured.waiting_bytes as f64);
    let mut put = |name: &str, help: &str, value: &dyn Fn(&Total) -> u64| {
        let series = own.iter().filter_map(|session| {
            let labels = [("session", session.name.as_deref().unwrap_or_default()), ("to", &*session.to)];
            Some((labels, value(session.total.as_ref()?) as f64))
        });
        text.family(&format!("anabranch_agent_session_{name}"), Counter, help, series);
    };
    put("sent_bytes_total", "Bytes that the session sent on all its paths.", &|total| total.bytes);
    put("dropped_packets_total", "Packets that found a queue of the session full.", &|total| total.drops);
}

/// Numbers and rates of sessions by what they have in common.
fn by<'a>(
    text: &mut Text,
    state: &'a State,
    most: usize,
    (label, words): (&'static str, &str),
    of: impl Fn(&'a Session) -> Option<&'a str>,
) {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for session in &state.sessions {
        let Some(of) = of(session) else { continue };
        let sum = sums.entry(of).or_default();
        *sum = (sum.0 + 1.0, sum.1 + session.rate_bps / 8.0);
    }
    let mut all: Vec<_> = sums.into_iter().collect();
    all.sort_by(|(_, one), (_, other)| other.1.total_cmp(&one.1));
    all.truncate(most);
    let counts = all.iter().map(|&(name, (count, _))| ([(label, name)], count));
    let help = format!("Number of sessions {words}.");
    text.family(&format!("anabranch_agent_{label}_sessions"), Gauge, &help, counts);
    let rates = all.iter().map(|&(name, (_, rate))| ([(label, name)], rate));
    let help = format!("Granted rates of the sessions {words}.");
    text.family(&format!("anabranch_agent_{label}_granted_bytes_per_second"), Gauge, &help, rates);
}

/// What limits paths of sessions.
fn limits(text: &mut Text, state: &State, most: usize) {
    let (mut demand, mut unknown, mut cut) = (0.0, 0.0, 0.0);
    let mut links: BTreeMap<&str, f64> = BTreeMap::new();
    for path in state.sessions.iter().flat_map(|session| &session.paths) {
        match &path.limit {
            _ if !path.works => cut += 1.0,
            Some(Limit::Demand) => demand += 1.0,
            Some(Limit::Link(link)) => *links.entry(link).or_default() += 1.0,
            None => unknown += 1.0,
        }
    }
    let full: f64 = links.values().sum();
    let kinds = [("demand", demand), ("link", full), ("unknown", unknown), ("cut", cut)];
    let help = "Number of paths by what limits them; a cut path lets nothing through.";
    text.family("anabranch_agent_paths", Gauge, help, kinds.map(|(kind, count)| ([("limit", kind)], count)));
    let mut largest: Vec<_> = links.into_iter().collect();
    largest.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let left_out = largest.len().saturating_sub(most);
    largest.truncate(most);
    let series = largest.into_iter().map(|(link, count)| ([("link", link)], count));
    text.family("anabranch_agent_bottleneck_paths", Gauge, "Number of paths that a link limits.", series);
    let help = "Number of links without series, as others limit more paths; ?sessions= asks for more.";
    text.one("anabranch_agent_bottlenecks_left_out", Gauge, help, left_out as f64);
}

fn asked_for(text: &mut Text, asked_for: AskedFor) {
    let AskedFor { items, sources, finders, paths } = asked_for;
    let mut one = |name: &str, help: &str, count: usize| {
        text.one(&format!("anabranch_agent_{name}"), Gauge, help, count as f64);
    };
    one("items", "Items that are published.", items);
    one("item_sources", "Sources of published items.", sources);
    one("finders", "Programs that are told the sources of an item.", finders);
    one("path_requests", "Programs that are told paths.", paths);
}

fn packets(text: &mut Text, counts: Counts) {
    // All fields are named, so that none is forgotten.
    let Counts { counted, stale, lost, refused, overdue, unknown, false_messages, given_up, renewals, lapsed } = counts;
    let outcomes = [
        ("counted", counted),
        ("stale", stale),
        ("lost", lost),
        ("refused", refused),
        ("overdue", overdue),
        ("unknown", unknown),
    ];
    let help = "Control packets: counted by a link, of an earlier generation (stale), with an invalid path (lost), refused \
                by a link, answered in place of a neighbour (overdue), or answers to no packet (unknown).";
    let series = outcomes.map(|(outcome, count)| ([("outcome", outcome)], count as f64));
    text.family("anabranch_agent_control_packets_total", Counter, help, series);
    let mut one = |name: &str, help: &str, count: u64| {
        text.one(&format!("anabranch_agent_{name}_total"), Counter, help, count as f64);
    };
    one("false_messages", "False messages of neighbours.", false_messages);
    one("given_up_neighbours", "Number of times that a neighbour was given up.", given_up);
    one("renewals", "Number of times that links began to count anew.", renewals);
    one("lapsed_sessions", "Sessions that ended because their application sent nothing in time.", lapsed);
}

fn http(text: &mut Text, site: &Site) {
    let (answered, streams) = site.answered();
    let outcomes = [("good", &answered.good), ("refused", &answered.refused)];
    let series = outcomes.map(|(outcome, count)| ([("outcome", outcome)], count.load(Ordering::Relaxed) as f64));
    text.family("anabranch_agent_http_answers_total", Counter, "Answers by HTTP, this one not counted.", series);
    text.one("anabranch_agent_http_streams", Gauge, "Open streams of events.", streams as f64);
}
