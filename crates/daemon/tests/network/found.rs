//! Applications on other machines, which ask by QUIC with their certificates.

use std::fs;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anabranch_daemon::Control;
use anabranch_live::agents::{Asking, Heard, Peer, Peers};
use anabranch_live::authority::{Authority, Issued, Issuer, Name};
use anabranch_live::security::Identity;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::field::Field;

const SOON: Duration = Duration::from_secs(5);

/// One network at a time: connections of a busy machine count as lost.
static ALONE: Mutex<()> = Mutex::new(());

/// Daemons that run, and the applications around them.
struct Far {
    _alone: MutexGuard<'static, ()>,
    field: Field,
    runtime: Runtime,
    controls: Vec<Control>,
}

impl Far {
    /// Runs all daemons, that of a with more in its file.
    fn new(rest: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (field, runtime) = (Field::new(), Runtime::new().unwrap());
        let start = |node| runtime.block_on(field.start(node, if node == "a" { rest } else { "" })).1;
        let controls = ["a", "b", "c", "d"].map(start).into();
        Self { _alone: alone, field, runtime, controls }
    }

    fn reload(&self, rest: &str) {
        self.field.own("a", rest);
        let _inside = self.runtime.enter();
        self.controls[0].reload().unwrap();
    }

    /// Asks the agent of a as an application.
    fn ask(&self, application: &str, question: &str) -> io::Result<Asking> {
        let issued = self.field.issuer.issue(&Name::Application(application.to_owned()), 30).unwrap();
        self.ask_as(issued, question)
    }

    fn ask_as(&self, issued: Issued, question: &str) -> io::Result<Asking> {
        let identity = Identity::of_pem(&(issued.certificate + &issued.key)).unwrap();
        let authority = Authority::read(&self.field.path("authority.pem")).unwrap();
        let who = Peers::one(Some(authority), Peer::Named(Name::Agent("a".to_owned())), ());
        let address = format!("127.0.0.1:{}", self.field.ports[1]);
        Asking::new(&address, &identity, who, question, SOON, &|| true)
    }

    /// The first line that an application is answered.
    fn first(&self, application: &str, question: &str) -> Value {
        let start = Instant::now();
        loop {
            // A connection is lost where this machine does nothing for a second.
            match self.ask(application, question).map(|asking| asking.line(2 * SOON)) {
                Ok(Heard::Line(line)) => return serde_json::from_str(&line).unwrap(),
                other => assert!(start.elapsed() < 4 * SOON, "{question:.80}: {other:?}"),
            }
        }
    }

    /// Waits until the sessions of the agent of a are so many.
    fn has_sessions(&self, count: usize) {
        let start = Instant::now();
        loop {
            let shown = self.runtime.block_on(self.controls[0].shown()).unwrap();
            if shown.sessions.len() == count {
                return;
            }
            assert!(start.elapsed() < SOON, "{:?}", shown.sessions);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn next(asking: &Asking) -> Value {
    match asking.line(2 * SOON) {
        Heard::Line(line) => serde_json::from_str(&line).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn error(answer: &Value) -> &str {
    answer["error"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Waits for the end, and gives what was said before.
fn ends(asking: &Asking) -> Vec<String> {
    let mut said = Vec::new();
    let start = Instant::now();
    loop {
        match asking.line(SOON) {
            Heard::Line(line) => said.push(line),
            Heard::End(reason) => {
                said.extend(reason);
                return said;
            }
            Heard::Silence => panic!("it does not end: {said:?}"),
        }
        assert!(start.elapsed() < 2 * SOON, "{said:?}");
    }
}

fn entry(name: &str, rest: &str) -> String {
    format!("[[application]]\nname = \"{name}\"\n{rest}\n")
}

#[test]
fn an_application_elsewhere_is_told_paths_rates_and_items_as_far_as_its_rights_go() {
    let all = "may = [\"rates\", \"paths\", \"publish\", \"find\"]\nitems = [\"videos/*\"]\nto = [\"d\"]\nmost = \"4 Mbit/s\"\n";
    let far = Far::new(&(entry("app", all) + &entry("old", "to = [\"d\"]")));
    let paths = far.ask("app", r#"paths {"to": "d", "from": ["a"], "count": 2}"#).unwrap();
    assert_eq!(next(&paths)["paths"][1]["links"], json!(["a-c", "c-d"]));
    let session = far.ask("app", r#"open {"name": "one", "to": "d", "demand": "50 Mbit/s"}"#).unwrap();
    assert_eq!(next(&session)["opened"], "one");
    let rate = |wanted: f64| {
        let start = Instant::now();
        loop {
            let said = next(&session);
            let rates = said["rates_bps"].as_array().cloned().unwrap_or_default();
            let sum: f64 = rates.iter().filter_map(Value::as_f64).sum();
            if (sum - wanted).abs() < 1e4 {
                return;
            }
            assert!(start.elapsed() < 2 * SOON, "{said}");
        }
    };
    rate(4e6);
    session.say(r#"{"demand": "1 Mbit/s"}"#).unwrap();
    rate(1e6);
    let shown = far.runtime.block_on(far.controls[0].shown()).unwrap();
    let own = &shown.sessions[0];
    assert_eq!((own.name.as_deref(), own.application.as_deref()), (Some("one"), Some("app")));
    // Names of sessions are those of each application.
    let other = far.ask("old", r#"open {"name": "one", "to": "d", "demand": "1 Mbit/s"}"#).unwrap();
    assert_eq!(next(&other)["opened"], "one");
    drop((session, other));
    far.has_sessions(0);
    let published = far.ask("app", r#"publish {"item": "videos/x", "node": "b", "at": "http://b/x"}"#).unwrap();
    assert_eq!(next(&published), json!({"published": "videos/x"}));
    let found = far.ask("app", r#"find {"item": "videos/x", "to": "d"}"#).unwrap();
    assert_eq!(next(&found)["sources"][0]["at"], "http://b/x");
    // The publisher ends, and the others hear of it at once.
    drop(published);
    let start = Instant::now();
    assert_eq!(next(&found), json!({"sources": []}));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    for (application, question, said) in [
        ("old", r#"paths {"to": "d", "from": ["a"]}"#, "`old` may not ask for paths"),
        ("old", r#"find {"item": "videos/x", "to": "d"}"#, "`old` may not find"),
        ("old", r#"publish {"item": "videos/x", "node": "a", "at": "x://y"}"#, "`old` may not publish"),
        ("app", r#"paths {"to": "c", "from": ["a"]}"#, "`app` may not ask for paths to `c`, but to d"),
        ("app", r#"find {"item": "music/x", "to": "d"}"#, "says items = [\"videos/*\"]"),
        ("app", r#"publish {"item": "music/x", "node": "a", "at": "x://y"}"#, "may not publish `music/x`"),
        ("app", r#"open {"name": "x", "to": "c"}"#, "may not ask for rates to `c`"),
        ("app", r#"open {"name": "x", "to": "d", "weight": 2.0}"#, "with a weight of at most 1"),
        ("app", r#"open {"name": "x", "to": "d", "reserved": "1 Mbit/s"}"#, "may reserve at most 0 bit/s"),
        ("app", r#"open {"name": "x", "to": "d", "match": [{"to": ["192.0.2.0/24"]}]}"#, "a match is for programs on"),
        ("app", r#"open {"name": "x\n", "to": "d"}"#, "no control characters"),
        ("app", "show", "begins with open, paths, publish or find"),
        ("app", "paths {", "EOF"),
        ("app", &format!("paths {}", "[".repeat(100_000)), "at most 16384 bytes"),
        ("app", "", "begins with open"),
    ] {
        let answer = far.first(application, question);
        assert!(error(&answer).contains(said), "{question:.80}: {answer}");
    }
    far.has_sessions(0);
}

#[test]
fn who_is_not_known_is_not_heard() {
    let far = Far::new(&entry("app", "may = [\"paths\"]"));
    let question = r#"paths {"to": "d", "from": ["a"]}"#;
    let foreign = Issuer::made("another network").unwrap();
    let application = |name: &str| Name::Application(name.to_owned());
    let own = &far.field.issuer;
    let issued = [
        (&foreign, application("app"), 30),
        (own, application("nobody"), 30),
        (own, Name::Agent("b".to_owned()), 30),
        (own, Name::Agent("app".to_owned()), 30),
        (own, application("app"), 0),
    ]
    .map(|(issuer, name, days)| (issuer.issue(&name, days).unwrap(), name));
    // The last one has expired then.
    std::thread::sleep(Duration::from_millis(1100));
    for (issued, name) in issued {
        let said = match far.ask_as(issued, question) {
            Ok(asking) => ends(&asking).concat(),
            Err(error) => error.to_string(),
        };
        assert!(said.contains("certificate") && !said.contains("links"), "{name}: {said}");
    }
    // The other end must be the agent that is expected.
    let authority = Authority::read(&far.field.path("authority.pem")).unwrap();
    let issued = far.field.issuer.issue(&application("app"), 30).unwrap();
    let identity = Identity::of_pem(&(issued.certificate + &issued.key)).unwrap();
    let who = Peers::one(Some(authority), Peer::Named(Name::Agent("b".to_owned())), ());
    let address = format!("127.0.0.1:{}", far.field.ports[1]);
    let said = Asking::new(&address, &identity, who, question, SOON, &|| true).unwrap_err().to_string();
    assert!(said.contains("of the agent `a`"), "{said}");
    assert!(far.first("app", question)["paths"][0]["links"].is_array());
}

#[test]
fn a_right_that_is_taken_away_ends_what_it_allowed() {
    let all = "may = [\"rates\", \"paths\", \"publish\", \"find\"]\nitems = [\"*\"]\n";
    let far = Far::new(&entry("app", all));
    let questions = [
        r#"open {"name": "one", "to": "d", "demand": "1 Mbit/s"}"#,
        r#"paths {"to": "d", "from": ["a"]}"#,
        r#"publish {"item": "x", "node": "b", "at": "http://b/x"}"#,
        r#"find {"item": "x", "to": "d"}"#,
    ];
    let held = questions.map(|question| far.ask("app", question).unwrap());
    for asking in &held {
        assert!(next(asking).get("error").is_none());
    }
    far.has_sessions(1);
    far.reload(&entry("app", "may = [\"paths\"]"));
    let [session, paths, published, found] = &held;
    for (asking, said) in [
        (session, "may not ask for rates: the agent's file says may"),
        (published, "may not publish"),
        (found, "may not find"),
    ] {
        let last = ends(asking).pop().unwrap();
        assert!(last.contains(said), "{last}");
    }
    far.has_sessions(0);
    assert_eq!(paths.line(Duration::from_millis(300)), Heard::Silence, "its right is still there");
    // An application that is not in the file any longer is not heard any longer.
    far.reload("");
    let said = ends(paths).concat();
    // Whichever of the question and the connection is looked at first.
    let reasons = ["the certificate is not expected any longer", "this agent knows no application `app`"];
    assert!(reasons.iter().any(|reason| said.contains(reason)), "{said}");
    let start = Instant::now();
    loop {
        let counted = far.runtime.block_on(far.controls[0].shown()).unwrap().asked_for;
        if (counted.items, counted.finders, counted.paths) == (0, 0, 0) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "something of it stays behind");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_flood_of_questions_costs_the_application_alone() {
    let far = Far::new(&(entry("app", "may = [\"paths\"]") + &entry("other", "may = [\"paths\"]")));
    let question = r#"paths {"to": "d", "from": ["a", "b"], "count": 4}"#;
    // Bytes by chance, the same each time: each is refused, or nothing is said.
    let mut state = 17_u64;
    for _ in 0..40 {
        let text: String = (0..200)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from((state >> 57) as u8)
            })
            .collect();
        let begins = ["", "paths ", "open {", "find {\"item\":"][(state % 4) as usize];
        let said = far.first("app", &format!("{begins}{text}"));
        assert!(!error(&said).is_empty());
    }
    // Of a hundred questions 64 are held, and the others are refused; another application is answered at once.
    let held: Vec<Asking> = (0..100).map(|_| far.ask("app", question).unwrap()).collect();
    let answers: Vec<Value> = held.iter().map(next).collect();
    let refused: Vec<&Value> = answers.iter().filter(|answer| answer.get("error").is_some()).collect();
    assert_eq!(refused.len(), 36);
    assert!(error(refused[0]).contains("there are 64 requests for paths and sources already"));
    let start = Instant::now();
    assert_eq!(far.first("other", question)["paths"].as_array().unwrap().len(), 4);
    // At once, on a machine with much else to do.
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    drop(held);
    let start = Instant::now();
    while far.first("app", question).get("error").is_some() {
        assert!(start.elapsed() < SOON, "the places of those that have ended are not free");
    }
    assert!(fs::exists(far.field.path("state-a")).unwrap());
}
