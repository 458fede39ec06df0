//! Daemons of a small network on this machine: they read files, find each other, grant rates, and answer programs.

mod asked;
mod field;
mod found;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_agents::Ask;
use anabranch_core::Rate;
use anabranch_daemon::shown::Session;
use anabranch_daemon::{Config, Control, Daemon, Entry};
use anabranch_live::agents::{AgentHandle, AgentReport, Application, Lease, Peer, Peers, Request};
use anabranch_live::authority::{Authority, Name};
use anabranch_live::security::Identity;
use anabranch_live::sockets::Sockets;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::field::Field;

async fn report(handle: &AgentHandle) -> AgentReport {
    handle.report().await.expect("it runs")
}

/// Waits until the sessions of an agent have these names, in order of their names, and these rates in Mbit/s.
async fn settles(control: &Control, wanted: &[(&str, f64)], seconds: f64) -> f64 {
    let start = Instant::now();
    loop {
        let sessions = control.shown().await.expect("it runs").sessions;
        let rate = |session: &Arc<Session>| (session.name.clone().unwrap_or_default(), session.rate_bps / 1e6);
        let rates: BTreeMap<String, f64> = sessions.iter().map(rate).collect();
        let near = |((name, rate), (wanted_name, wanted)): ((&String, &f64), &(&str, f64))| {
            name == wanted_name && (rate - wanted).abs() < 0.01 * wanted + 0.001
        };
        if rates.len() == wanted.len() && rates.iter().zip(wanted).all(near) {
            return start.elapsed().as_secs_f64();
        }
        assert!(start.elapsed().as_secs_f64() < seconds, "{rates:?}, not {wanted:?}, after {seconds} s");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const SESSIONS: &str = "[[session]]\nname = \"one\"\nto = \"d\"\n[[session]]\nname = \"two\"\nto = \"b\"\npaths = 1\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemons_grant_rates_lose_one_and_take_it_back() {
    let field = Field::new();
    let (a, control) = field.start("a", SESSIONS).await;
    let b = field.start("b", "").await.0;
    let (c, _) = field.start("c", "").await;
    let d = field.start("d", "").await.0;
    // "one" has 30 over c; what it could have over b is level with "two" only where that has 20.
    settles(&control, &[("one", 30.0), ("two", 20.0)], 10.0).await;
    let state = field.path("state-a");
    let shown =
        tokio::task::spawn_blocking(move || anabranch_daemon::ask(&state, "show", SOON)).await.unwrap().unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let shown = &shown["answer"];
    assert_eq!((&shown["node"], &shown["neighbours"][1]["state"]), (&"a".into(), &"up".into()));
    assert_eq!(shown["links"].as_array().unwrap().len(), 2);
    let sessions = shown["sessions"].as_array().unwrap();
    let named = |name: &str| sessions.iter().find(|session| session["name"] == name).expect(name);
    let one = named("one");
    assert!((one["rate_bps"].as_f64().unwrap() - 30e6).abs() < 1e6, "{shown}");
    assert_eq!((&one["to"], &one["paths"][0]["links"]), (&"d".into(), &json!(["a-b", "b-d"])));
    // What "one" has over c is limited by the links there; "two" takes all that a-b has.
    assert_eq!(one["paths"][1]["limit"], json!({"link": "a-c"}), "{one}");
    assert_eq!(named("two")["paths"][0]["limit"], json!({"link": "a-b"}));
    // Without c both share the link to b, or "one" has none of it: 10 each.
    c.abort();
    let took = settles(&control, &[("one", 10.0), ("two", 10.0)], 6.0).await;
    assert!(took < 4.0, "it took {took} s to do without an agent");
    let (c, other) = field.start("c", "").await;
    settles(&control, &[("one", 30.0), ("two", 20.0)], 10.0).await;
    // All leave with their agent; the others hold nothing.
    a.abort();
    let start = Instant::now();
    while !report(other.agent()).await.is_clear {
        assert!(start.elapsed() < Duration::from_secs(6), "something stays behind");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    [b, c, d].iter().for_each(JoinHandle::abort);
}

const SOON: Duration = Duration::from_secs(5);

const APPLICATION: &str = "[[application]]\nname = \"app\"\nto = [\"d\"]\nmost = \"4 Mbit/s\"\n";

/// Begins to hold a session of the application `app` to d.
fn hold(field: &Field, agent: u16) -> (Arc<Lease>, JoinHandle<()>) {
    let issued = field.issuer.issue(&Name::Application("app".to_owned()), 30).unwrap();
    let identity = Identity::of_pem(&(issued.certificate + &issued.key)).unwrap();
    let authority = Authority::read(&field.path("authority.pem")).unwrap();
    let who = Peers::one(Some(authority), Peer::Named(Name::Agent("a".to_owned())), ());
    let lease = Arc::new(Lease::new(1, Duration::from_secs(2)));
    let held = lease.clone();
    let task = tokio::spawn(async move {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let sockets = Sockets::bind(&[local.into()]).await.unwrap();
        let application =
            Application::with(sockets, &identity, SocketAddr::from(([127, 0, 0, 1], agent)), who).unwrap();
        let demand = f64::INFINITY;
        let join = Ask::Open { target: "d".to_owned(), paths: 1, protocol: 0, claim: 1.0, reserved: 0.0, demand };
        let (_demand, demand) = watch::channel(Rate(f64::INFINITY));
        let (_leave, leave) = watch::channel(false);
        application.hold(Request { join, demand, leave }, &held).await;
    });
    (lease, task)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_read_again_changes_what_it_says_and_nothing_else() {
    let field = Field::new();
    let (_a, control) = field.start("a", &format!("{SESSIONS}{APPLICATION}")).await;
    let mut others = Vec::new();
    for node in ["b", "c", "d"] {
        others.push(field.start(node, "").await);
    }
    let handle = control.agent().clone();
    settles(&control, &[("one", 30.0), ("two", 20.0)], 10.0).await;
    let renewals = report(&handle).await.counts.renewals;
    let numbers =
        async || -> Vec<_> { report(&handle).await.view.sessions.iter().map(|session| session.client.0).collect() };
    let before = numbers().await;
    // Another demand, and a session more; the sessions that there were are not begun anew.
    let demand = SESSIONS.replace("paths = 1", "paths = 1\ndemand = \"5 Mbit/s\"");
    let more = "[[session]]\nname = \"three\"\nto = \"c\"\npaths = 1\nweight = 2\n";
    field.own("a", &format!("{demand}{more}{APPLICATION}"));
    control.reload().unwrap();
    // "two" has 5 of 20; "one" has the other 15, and of the 30 over c what makes the levels even: 45 = 3 x 15.
    settles(&control, &[("one", 15.0), ("three", 30.0), ("two", 5.0)], 5.0).await;
    assert_eq!(numbers().await[..2], before);
    // The application joins by its right, loses it, and its session ends.
    let (lease, held) = hold(&field, field.ports[1]);
    let start = Instant::now();
    while !(lease.told()[0].0 - 4e6).abs().lt(&1e4) {
        assert!(start.elapsed() < SOON, "{:?} {:?}", lease.told(), lease.refusal());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    field.own("a", &format!("{demand}{more}"));
    control.reload().unwrap();
    settles(&control, &[("one", 15.0), ("three", 30.0), ("two", 5.0)], 5.0).await;
    held.abort();
    // What is wrong or cannot change is said, and changes nothing.
    field.own("a", "[[session]]\nname = \"one\"\nto = \"nowhere\"\n");
    assert!(control.reload().unwrap_err().to_string().contains("there is no node `nowhere`; nothing has changed"));
    field.own("a", "protocol = \"slbn\"\n");
    let said = control.reload().unwrap_err().to_string();
    assert!(said.contains("a.toml: protocol cannot change while the agent runs; nothing has changed"), "{said}");
    field.write("a", &Name::Agent("b".to_owned()), SESSIONS);
    assert!(control.reload().unwrap_err().to_string().contains("but of the agent `b`; nothing has changed"));
    assert_eq!(numbers().await[..2], before);
    // Without sessions none stay; all went without a renewal.
    field.own("a", "");
    control.reload().unwrap();
    settles(&control, &[], 5.0).await;
    assert_eq!(report(&handle).await.counts.renewals, renewals);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_drains_is_avoided_before_it_ends() {
    let field = Field::new();
    let (_a, a) = field.start("a", SESSIONS).await;
    let (_b, _) = field.start("b", "").await;
    let (_c, c) = field.start("c", "[[session]]\nname = \"own\"\nto = \"d\"\npaths = 1\ndemand = \"1 Mbit/s\"\n").await;
    let (_d, _) = field.start("d", "").await;
    settles(&a, &[("one", 29.0), ("two", 20.0)], 10.0).await;
    let renewals = report(a.agent()).await.counts.renewals;
    assert!(c.drain(SOON).await, "{:?}", report(c.agent()).await);
    settles(&a, &[("one", 10.0), ("two", 10.0)], 5.0).await;
    assert_eq!(report(a.agent()).await.counts.renewals, renewals);
    let shown = c.shown().await.unwrap();
    assert!(shown.is_draining && shown.sessions.is_empty());
    // The history has an entry each second.
    let start = Instant::now();
    let is_down = |entry: &Entry| entry.rates_bps.iter().all(|&(_, bps)| (bps - 10e6).abs() < 1e5);
    while !a.watch().history(0.0).last().is_some_and(is_down) {
        assert!(start.elapsed() < SOON, "{:?}", a.watch().history(0.0));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_certificate_of_another_is_refused_at_the_start() {
    let field = Field::new();
    for (name, said) in [
        (Name::Agent("b".to_owned()), ", but of the agent `b`"),
        (Name::Application("a".to_owned()), ", but of the application `a`"),
    ] {
        let config = Config::read(&field.write("a", &name, "")).unwrap();
        let error = Daemon::bind(config).await.err().unwrap().to_string();
        assert!(error.contains("not a certificate of the agent `a`") && error.ends_with(said), "{error}");
    }
}

#[test]
fn mistakes_in_a_configuration_are_named_with_what_would_do() {
    let field = Field::new();
    let own = Name::Agent("a".to_owned());
    let path = field.write("a", &own, "");
    let good = fs::read_to_string(&path).unwrap();
    assert!(Config::read(&path).is_ok());
    let cases = [
        ("node = \"a\"", "node = \"e\"", "node: there is no node `e`"),
        ("share = 1.0", "share = 1.5", "share: it is 1.5; it must be more than 0 and at most 1"),
        ("share = 1.0", "gap = \"2 s\"", "gap: it is 2 s; it must be from 1 ms to 200 ms"),
        ("share = 1.0", "shear = 1.0", "unknown field `shear`"),
        ("share = 1.0", "protocol = \"reno\"", "protocol: agents do not carry the packets of `reno`"),
        ("b = \"", "e = \"", "neighbours: no link joins `a` and `e`"),
        ("[neighbours]", "[[session]]\nname = \"x\"\nto = \"q\"\n[neighbours]", "session `x`: there is no node `q`"),
        ("[neighbours]", "[[session]]\nname = \"x\"\nto = \"a\"\n[neighbours]", "it ends where it begins"),
        ("[neighbours]", "[links]\n\"a-d\" = {}\n[neighbours]", "links: no link `a-d` leaves `a`"),
        ("[neighbours]", "[links]\n\"a-b\" = { claims = -1 }\n[neighbours]", "claims must be a number from 0 on"),
        (
            "[neighbours]",
            "[[application]]\nname = \"x\"\nto = [\"z\"]\n[neighbours]",
            "application `x`: there is no node `z`",
        ),
        ("network.toml", "nothing.toml", "No such file"),
    ];
    for (old, new, said) in cases {
        assert!(good.contains(old), "{old}");
        fs::write(&path, good.replacen(old, new, 1)).unwrap();
        let error = Config::read(&path).unwrap_err().to_string();
        assert!(error.contains(said), "{new}: {error}");
        let file = if new == "nothing.toml" { new } else { "a.toml" };
        assert!(error.starts_with(&Path::new(field.folder.path()).join(file).display().to_string()), "{error}");
    }
    let without = good.lines().filter(|line| !line.starts_with("b = ")).collect::<Vec<_>>().join("\n");
    fs::write(&path, without).unwrap();
    let error = Config::read(&path).unwrap_err().to_string();
    assert!(error.contains("there is no address of `b`; write one, such as \"b\" = \"192.0.2.7:4434\""), "{error}");
}
