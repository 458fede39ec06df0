//! The answers of the routes.

use anabranch_http::asked::Asked;
use anabranch_http::page::Page;
use anabranch_http::problem::Problem;
use anabranch_http::routes::Answer;
use anabranch_http::{JSON, Site as _};
use serde::Serialize;

use super::answers::{About, Changed, Explained, Found, History, Links, Neighbours, Published};
use super::events::{Events, Id};
use super::site::Site;
use super::topology as network;
use super::why::Why;
use crate::feed::{Dated, Heard};
use crate::shown::{Session, State};
use crate::topology::{Paths, Wanted};

type Answered = Result<Answer, Problem>;

fn json(answer: &impl Serialize) -> Answered {
    anabranch_http::json(answer).map(|text| Answer::Whole(JSON, text))
}

pub(super) fn document(site: &Site, _: &Asked) -> Answered {
    json(site.front().document::<Site>())
}

pub(super) fn page(site: &Site, _: &Asked) -> Answered {
    site.page()
        .map(Page::answer)
        .map(Answer::Ready)
        .ok_or_else(|| Problem::absent("this agent was started without a page; /openapi.json lists what else there is"))
}

pub(super) fn about(site: &Site, _: &Asked) -> Answered {
    let present = site.watch().present();
    let State { neighbours, sessions, counts, .. } = &*present.state;
    json(&About {
        node: present.state.node.clone(),
        protocol: present.state.protocol.clone(),
        version: env!("CARGO_PKG_VERSION"),
        generation: present.state.generation.clone(),
        start_s: site.watch().start_s(),
        time_s: present.time_s,
        last: site.id(present.change).text(),
        is_draining: present.state.is_draining,
        is_clear: present.state.is_clear,
        certificate_until_s: present.state.certificate_until_s,
        neighbours: neighbours.len(),
        neighbours_up: neighbours.iter().filter(|neighbour| neighbour.state == "up").count(),
        sessions: sessions.len(),
        rate_bps: sessions.iter().map(|session| session.rate_bps).sum(),
        packets_in_flight: present.state.packets_in_flight,
        counts: *counts,
        asked_for: present.state.asked_for,
        enforcement: present.state.enforcement.clone(),
    })
}

pub(super) fn topology(site: &Site, _: &Asked) -> Answered {
    json(&network::topology(site))
}

pub(super) fn links(site: &Site, _: &Asked) -> Answered {
    let present = site.watch().present();
    json(&Links { time_s: present.time_s, links: present.state.links.clone() })
}

pub(super) fn neighbours(site: &Site, _: &Asked) -> Answered {
    let present = site.watch().present();
    json(&Neighbours { time_s: present.time_s, neighbours: present.state.neighbours.clone() })
}

pub(super) fn paths(site: &Site, asked: &Asked) -> Answered {
    let from: Vec<String> = asked.texts("from").to_vec();
    let to = asked.text("to").unwrap_or_default().to_owned();
    let count = asked.whole("count").unwrap_or(1) as usize;
    let wanted = Wanted::Paths(Paths { to, from, count, disjoint: asked.flag("disjoint"), nodes: asked.flag("nodes") });
    let (turn, topology) = (site.search()?, site.topology().clone());
    Ok(Answer::Later(Box::pin(async move {
        let mut found = topology.ask(&"".into(), wanted).await.map_err(Problem::bad)?;
        drop(turn);
        Ok(Answer::Whole(JSON, found.now().as_bytes().to_vec()))
    })))
}

#[expect(clippy::unnecessary_wraps, reason = "other routes can fail")]
pub(super) fn items(site: &Site, asked: &Asked) -> Answered {
    let (after, most) = (asked.text("after").unwrap_or_default().to_owned(), asked.whole("limit").unwrap_or(1));
    let topology = site.topology().clone();
    Ok(Answer::Later(Box::pin(async move {
        let (count, items, is_all) = topology.items(after, most as usize).await;
        let next = items.last().filter(|_| !is_all).map(|last| last.item.clone());
        json(&Published { count, items, next })
    })))
}

pub(super) fn sessions(site: &Site, asked: &Asked) -> Answered {
    let present = site.watch().present();
    let is =
        |wanted: Option<&str>, own: Option<&String>| wanted.is_none_or(|wanted| own.is_some_and(|own| own == wanted));
    let is_over = |session: &Session, wanted: Option<&str>| {
        wanted.is_none_or(|wanted| session.paths.iter().any(|path| path.links.iter().any(|link| link == wanted)))
    };
    let is_wanted = |session: &Session| {
        is(asked.text("to"), Some(&session.to))
            && is(asked.text("name"), session.name.as_ref())
            && is(asked.text("application"), session.application.as_ref())
            && is_over(session, asked.text("over"))
    };
    let all: Vec<_> = present.state.sessions.iter().filter(|session| is_wanted(session)).collect();
    let count = all.len();
    let after = asked.whole("after");
    let mut rest = all.into_iter().filter(|session| after.is_none_or(|after| session.number > after)).cloned();
    let sessions: Vec<_> = rest.by_ref().take(asked.whole("limit").unwrap_or(1) as usize).collect();
    let next = rest.next().and_then(|_| sessions.last()).map(|last| last.number);
    json(&Found { time_s: present.time_s, last: site.id(present.change).text(), count, sessions, next })
}

pub(super) fn session(site: &Site, asked: &Asked) -> Answered {
    let present = site.watch().present();
    let number = asked.whole("number").unwrap_or_default();
    let found = present.state.sessions.iter().find(|session| session.number == number).cloned();
    let session = found.ok_or_else(|| {
        Problem::absent(format!(
            "there is no session {number} at this agent; /api/v1/sessions lists those that there are"
        ))
    })?;
    let why = Why::of(&session, &present.state);
    json(&Explained { time_s: present.time_s, session, why })
}

pub(super) fn history(site: &Site, asked: &Asked) -> Answered {
    let since_s = asked.seconds("since").unwrap_or(0.0);
    let most = asked.whole("limit").unwrap_or(1) as usize;
    json(&History { entries: site.watch().history_of(since_s, asked.whole("session"), most) })
}

pub(super) fn changes(site: &Site, asked: &Asked) -> Answered {
    let since = match asked.text("since") {
        None => site.id(0),
        Some(text) => Id::read(text)
            .ok_or_else(|| Problem::bad("since must be the `last` of an answer, such as 1700000000000-17"))?,
    };
    let feed = site.watch().feed();
    let known = since.reader(site.id(0).start, feed);
    let mut missed = known.is_some().then_some(0);
    let mut reader = known.unwrap_or_else(|| feed.now());
    let mut changes: Vec<std::sync::Arc<Dated>> = Vec::new();
    while changes.len() < asked.whole("limit").unwrap_or(1) as usize {
        match reader.next_now() {
            None => break,
            Some(Heard::Missed(count)) => missed = missed.map(|missed| missed + count),
            Some(Heard::Change(dated)) => changes.push(dated),
        }
    }
    json(&Changed { last: site.id(reader.after()).text(), missed, changes })
}

pub(super) fn events(site: &Site, asked: &Asked) -> Answered {
    let turn = site.turn()?;
    // What is no id is an id of another start.
    let after = asked.text("last-event-id").map(|text| Id::read(text).unwrap_or(Id { start: 0, change: 0 }));
    Ok(Answer::Ready(Events::new(site.id(0).start, site.watch().feed(), after, turn).answer()))
}
