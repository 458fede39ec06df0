//! Why a session has no more than it has.

use anabranch_core::Rate;
use schemars::JsonSchema;
use serde::Serialize;

use crate::shown::{Limit, Link, Path, Session, State};

/// A rate that is smaller by less than this part is as large.
const SAME: f64 = 1e-3;

/// Why a session has no more than it has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Why {
    /// The reason in words.
    pub sentence: String,
    /// Whether the session has all that it asks for.
    pub is_met: bool,
    /// The rate beyond the reserved part for each unit of weight, in bit/s. At a link that limits the session nobody has more than this.
    pub level_bps: f64,
    /// The reason for each path.
    pub paths: Vec<PathWhy>,
}

/// Why a path has no more than it has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct PathWhy {
    /// The links in order.
    pub links: Vec<String>,
    /// The granted rate, in bit/s.
    pub rate_bps: f64,
    /// The reason in words.
    pub sentence: String,
    /// What limits the rate; absent while that is not known, or nothing gets through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The sums at the link that limits it, if that is a link of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Link>,
}

impl Why {
    /// The reason for a session of a state.
    pub fn of(session: &Session, state: &State) -> Self {
        let level_bps = (session.rate_bps - session.reserved_bps).max(0.0) / session.weight;
        let is_short = session.rate_bps < session.reserved_bps * (1.0 - SAME);
        let is_met = session.demand_bps.is_some_and(|demand| session.rate_bps >= demand * (1.0 - SAME));
        let paths: Vec<_> = session.paths.iter().map(|path| PathWhy::of(path, is_met, level_bps, state)).collect();
        let rate = Rate(session.rate_bps);
        let mut full: Vec<&str> = Vec::new();
        for path in session.paths.iter().filter(|path| path.works) {
            if let Some(Limit::Link(link)) = &path.limit
                && !full.contains(&&**link)
            {
                full.push(link);
            }
        }
        let sentence = match (session.state, &*full) {
            ("leaving", _) => "It is leaving.".to_owned(),
            _ if session.paths.is_empty() => "It has no path.".to_owned(),
            _ if !session.paths.iter().any(|path| path.works) => {
                "Nothing gets through on any of its paths; it goes on when something does.".to_owned()
            }
            _ if is_met => format!("It has {rate}, which is all that it asks for."),
            (_, []) => format!("It has {rate}; what limits it is not known yet."),
            (_, full) if is_short => {
                let reserved = Rate(session.reserved_bps);
                format!("It has {rate} of {reserved} reserved: more is reserved than {} can carry.", full.join(" and "))
            }
            (_, [link]) => format!(
                "It has {rate} and no more, as {link} is full, and nobody has more there for each unit of weight: {}.",
                Rate(level_bps)
            ),
            (_, [rest @ .., last]) => format!(
                "It has {rate} and no more, as {} and {last} are full, and nobody has more there for each unit of weight: \
                 {}.",
                rest.join(", "),
                Rate(level_bps)
            ),
        };
        Self { sentence, is_met, level_bps, paths }
    }
}

impl PathWhy {
    fn of(path: &Path, is_met: bool, level_bps: f64, state: &State) -> Self {
        let limit = path.limit.clone().filter(|_| path.works);
        let at = match &limit {
            Some(Limit::Link(name)) => state.links.iter().find(|link| link.link == *name).cloned(),
            _ => None,
        };
        let rate = Rate(path.rate_bps);
        let sentence = match &limit {
            _ if !path.works => "Nothing gets through.".to_owned(),
            Some(Limit::Link(link)) if !is_met => {
                format!(
                    "{link} limits it to {rate}: nobody has more there than {} for each unit of weight.",
                    Rate(level_bps)
                )
            }
            Some(_) => format!("It has {rate}; with the other paths that is all that the session asks for."),
            None => format!("It has {rate}; what limits it is not known yet."),
        };
        Self { links: path.links.clone(), rate_bps: path.rate_bps, sentence, limit, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown;

    fn path(link: &str, rate_bps: f64, works: bool, limit: Option<Limit>) -> Path {
        Path { links: vec![link.to_owned()], works, rate_bps, limit, measured: None }
    }

    fn why(demand_bps: Option<f64>, paths: Vec<Path>) -> Why {
        why_with(0.0, demand_bps, paths)
    }

    fn why_with(reserved_bps: f64, demand_bps: Option<f64>, paths: Vec<Path>) -> Why {
        let rate_bps = paths.iter().map(|path| path.rate_bps).sum();
        let session = Session { weight: 2.0, reserved_bps, demand_bps, paths, ..shown::tests::session(1, rate_bps) };
        let state = shown::tests::state(Vec::new());
        Why::of(&session, &state)
    }

    #[test]
    fn reserved_parts_count_before_the_level() {
        let full = Some(Limit::Link("a-b".to_owned()));
        let found = why_with(12e6, None, vec![path("a-b", 16e6, true, full.clone())]);
        assert!((found.level_bps - 2e6).abs() < 1.0);
        let short = why_with(12e6, None, vec![path("a-b", 9e6, true, full)]);
        let said = "It has 9 Mbit/s of 12 Mbit/s reserved: more is reserved than a-b can carry.";
        assert!(short.sentence == said && short.level_bps.abs() < 1.0, "{}", short.sentence);
    }

    #[test]
    fn the_reason_names_the_full_links_and_the_level() {
        let at = |name: &str| Some(Limit::Link(name.to_owned()));
        let told = why(None, vec![path("a-b", 6e6, true, at("a-b")), path("a-c", 4e6, true, at("c-b"))]);
        assert_eq!(
            told.sentence,
            "It has 10 Mbit/s and no more, as a-b and c-b are full, and nobody has more there for each unit of weight: \
             5 Mbit/s."
        );
        assert!((told.level_bps - 5e6).abs() < 1.0 && !told.is_met);
        // The sums are known of the agent's own link alone.
        assert!(told.paths[0].at.is_some() && told.paths[1].at.is_none());
        assert!(told.paths[0].sentence.starts_with("a-b limits it to 6 Mbit/s"));
        let met = why(Some(6e6), vec![path("a-b", 6e6, true, Some(Limit::Demand))]);
        assert_eq!((&*met.sentence, met.is_met), ("It has 6 Mbit/s, which is all that it asks for.", true));
        let cut = why(None, vec![path("a-b", 0.0, false, at("a-b"))]);
        assert!(cut.sentence.starts_with("Nothing gets through") && cut.paths[0].limit.is_none());
        assert!(why(None, vec![path("a-b", 1.0, true, None)]).sentence.ends_with("not known yet."));
        assert_eq!(why(None, Vec::new()).sentence, "It has no path.");
    }
}
