//! Programs of the agent's machine, which ask by its socket.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::field::Field;

/// Asks an agent by its socket, and gives the lines that it answers.
pub async fn asked(
    field: &Field,
    node: &str,
    question: &str,
) -> (tokio::io::Lines<BufReader<OwnedReadHalf>>, OwnedWriteHalf) {
    let place = field.path(&format!("state-{node}")).join("agent.sock");
    let (reader, mut writer) = UnixStream::connect(place).await.unwrap().into_split();
    writer.write_all(format!("{question}\n").as_bytes()).await.unwrap();
    (BufReader::new(reader).lines(), writer)
}

pub async fn next(lines: &mut tokio::io::Lines<BufReader<OwnedReadHalf>>) -> serde_json::Value {
    let line =
        tokio::time::timeout(Duration::from_secs(10), lines.next_line()).await.expect("it answers soon").unwrap();
    serde_json::from_str(&line.expect("it has not ended")).unwrap()
}

fn links_of(answer: &serde_json::Value) -> Vec<(String, u64)> {
    let join = |path: &serde_json::Value| {
        let names: Vec<&str> = path["links"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        (names.join(" "), path["group"].as_u64().unwrap())
    };
    answer["paths"].as_array().unwrap().iter().map(join).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_are_told_paths_with_their_groups_and_every_change() {
    let field = Field::new();
    let mut running = Vec::new();
    let mut tasks = std::collections::BTreeMap::new();
    for node in ["a", "b", "c", "d"] {
        let (task, control) = field.start(node, "").await;
        tasks.insert(node, task);
        running.push(control);
    }
    let (mut lines, _writer) = asked(&field, "a", r#"paths {"to": "d", "from": ["a", "b"], "count": 2}"#).await;
    // From b to d over a and c, the path shares two links with that of a over c.
    let wanted = [("a-b b-d", 0), ("a-c c-d", 1), ("b-d", 0), ("b-a a-c c-d", 1)]
        .map(|(links, group)| (links.to_owned(), group));
    let first = next(&mut lines).await;
    assert_eq!(links_of(&first), wanted);
    assert_eq!(first["paths"][3]["back"], json!(["d-c", "c-a", "a-b"]));
    assert_eq!(first["paths"][0]["forward"]["bits"].as_str().unwrap().len(), 64);
    // Without b there is one path of a, and none of b; it is told within a second of the moment when a notices.
    tasks["b"].abort();
    let left = loop {
        let answer = next(&mut lines).await;
        if answer["paths"].as_array().unwrap().len() < 3 {
            break answer;
        }
    };
    assert!(links_of(&left).contains(&("a-c c-d".to_owned(), 0)), "{left}");
    for (question, said) in [
        (r#"{"to": "x", "from": ["a"]}"#, "there is no node `x`"),
        (r#"{"to": "a", "from": ["a"]}"#, "a"),
        (r#"{"to": "d", "from": ["a"], "count": 0}"#, "0"),
        (r#"{"to": "d"}"#, "from"),
        (r#"{"to": "d", "from": ["a"], "count": 1025}"#, "it asks for 1025 paths; ask for 1024 at most"),
        ("nonsense", "expected"),
    ] {
        let (mut lines, _writer) = asked(&field, "a", &format!("paths {question}")).await;
        let answer = next(&mut lines).await;
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(said)), "{question}: {answer}");
        assert!(lines.next_line().await.unwrap().is_none());
    }
    let (mut lines, _writer) =
        asked(&field, "c", r#"paths {"to": "c", "from": ["d"], "count": 3, "disjoint": true, "nodes": true}"#).await;
    assert_eq!(links_of(&next(&mut lines).await)[0].0, "d-c");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_are_published_and_found_and_go_with_their_programs() {
    let field = Field::new();
    let mut running = Vec::new();
    for node in ["a", "b", "c", "d"] {
        running.push(field.start(node, "").await);
    }
    let (mut found, _finder) = asked(&field, "a", r#"find {"item": "videos/one", "to": "d", "count": 1}"#).await;
    assert_eq!(next(&mut found).await, json!({"sources": []}));
    let (mut at_b, publisher) =
        asked(&field, "a", r#"publish {"item": "videos/one", "node": "b", "at": "http://b/1"}"#).await;
    assert_eq!(next(&mut at_b).await, json!({"published": "videos/one"}));
    let first = next(&mut found).await;
    let (source, links) = (&first["sources"][0], &first["sources"][0]["paths"][0]["links"]);
    assert_eq!((&source["node"], &source["at"], links), (&json!("b"), &json!("http://b/1"), &json!(["b-d"])));
    // A source at the node itself has no paths, and the one at a shares the link from c with nobody.
    let (mut at_d, _own) =
        asked(&field, "a", r#"publish {"item": "videos/one", "node": "d", "at": "http://d/1"}"#).await;
    next(&mut at_d).await;
    let both = next(&mut found).await;
    assert_eq!(both["sources"][1], json!({"node": "d", "at": "http://d/1", "paths": []}));
    // An item at b is not found under another name.
    let (mut none, _other) = asked(&field, "a", r#"find {"item": "videos/two", "to": "d"}"#).await;
    assert_eq!(next(&mut none).await, json!({"sources": []}));
    let counts = |control: anabranch_daemon::Control| async move { control.shown().await.unwrap().asked_for };
    let counted = counts(running[0].1.clone()).await;
    assert_eq!((counted.items, counted.sources, counted.finders, counted.paths), (1, 2, 2, 0));
    // The paths follow the links: without b its source stays, and cannot be reached.
    running[1].0.abort();
    let without = next(&mut found).await;
    assert_eq!(without["sources"][0], json!({"node": "b", "at": "http://b/1", "paths": []}));
    // The program ends, and its source with it.
    drop((at_b, publisher));
    let left = next(&mut found).await;
    assert_eq!(left["sources"].as_array().unwrap().len(), 1, "{left}");
    for (question, said) in [
        (r#"publish {"item": "x", "node": "q", "at": "http://b/1"}"#, "there is no node `q`"),
        (r#"publish {"item": "x*", "node": "a", "at": "http://b/1"}"#, "no *"),
        (r#"publish {"item": "x", "node": "a", "at": "there"}"#, "at must be a URL"),
        (r#"find {"item": "x", "to": "a", "count": 17}"#, "count is 17; it must be from 1 to 16"),
        (r#"find {"item": "x", "to": "a", "counts": 1}"#, "unknown field `counts`"),
    ] {
        let (mut lines, _writer) = asked(&field, "a", question).await;
        let answer = next(&mut lines).await;
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(said)), "{question}: {answer}");
    }
}
