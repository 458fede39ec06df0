//! Where a table is wanted, a list of its values is refused.

use std::collections::HashMap;

use anabranch_scenario::{Scenario, ScenarioError, scenario_schema};
use serde::Deserialize;
use serde_json::Value;

/// A text for each place in the schema where a table may stand and a list may not, with `[]` there; and its column.
fn lists_for_tables() -> Vec<(String, usize)> {
    let root: Value = serde_json::from_str(&scenario_schema()).unwrap();
    let mut texts = Vec::new();
    for (key, schema) in root["properties"].as_object().unwrap() {
        descend(&root, schema, (&format!("{key} = "), ""), &mut texts);
    }
    texts
}

/// Adds the texts for `schema`, where a value of it stands between `before` and `behind`.
fn descend(root: &Value, schema: &Value, (before, behind): (&str, &str), texts: &mut Vec<(String, usize)>) {
    let choices = choices(root, schema);
    let items = choices.iter().find_map(|choice| choice.get("items"));
    if let Some(items) = items {
        descend(root, items, (&format!("{before}["), &format!("]{behind}")), texts);
    }
    let tables: Vec<_> = choices.iter().filter_map(|choice| choice["properties"].as_object()).collect();
    if !tables.is_empty() && items.is_none() {
        texts.push((format!("{before}[]{behind}"), before.len() + 1));
    }
    for (key, schema) in tables.into_iter().flatten() {
        descend(root, schema, (&format!("{before}{{ {key} = "), &format!(" }}{behind}")), texts);
    }
}

/// All that a schema allows, without references.
fn choices<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        return choices(root, root.pointer(&reference[1..]).unwrap());
    }
    match schema.get("anyOf").or(schema.get("oneOf")) {
        Some(Value::Array(any)) => any.iter().flat_map(|one| choices(root, one)).collect(),
        _ => vec![schema],
    }
}

fn is_told(error: &ScenarioError, column: usize) -> bool {
    let reasons = ["a list, expected ", "paths by their nodes belong to one connection"];
    error.place == Some((1, column)) && reasons.iter().any(|reason| error.message.contains(reason))
}

#[test]
fn a_list_in_place_of_a_table_is_refused_where_it_stands() {
    let texts = lists_for_tables();
    for (text, column) in &texts {
        let error = Scenario::parse(text).map(|_| ()).expect_err(text);
        assert!(is_told(&error, *column), "{text}\n{error}");
    }
    let has = |text: &str| assert!(texts.iter().any(|(other, _)| other == text), "{text} is not tried");
    has("run = []");
    has("defaults = { connection = [] }");
    has("network = { generate = [] }");
    has("network = { generate = { leaf-spine = [] } }");
    has("link = [{ capacity_changes = [[]] }]");
    has("traffic = [{ lifetime = { pareto = [] } }]");
    has("connection = [{ protocol = { d-slen = [] } }]");
}

#[test]
fn the_reader_of_toml_alone_would_take_lists_for_tables() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        key: f64,
    }
    assert!(toml::from_str::<HashMap<String, Table>>("table = [0.25]").is_ok_and(|read| read["table"].key > 0.0));
}
