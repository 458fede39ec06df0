//! Mistakes in a scenario file, with their places.

use std::fmt;
use std::ops::Range;

use anabranch_core::spelling::nearest;
use thiserror::Error;

use crate::synonyms::key_for;

/// A mistake in a scenario file, or in a value that was set from outside.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ScenarioError {
    /// Line and column of the mistake, counted from 1, columns in characters; `None` if it is not in the file.
    pub place: Option<(usize, usize)>,
    /// Values that were set from outside before the lines were counted, in brackets; empty if none was.
    pub changed: String,
    /// What is wrong, and how to correct it.
    pub message: String,
}

impl ScenarioError {
    /// Makes an error at the beginning of `span` in `text`.
    pub(crate) fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Self { place: Some((line, column)), changed: String::new(), message: message.into() }
    }

    /// Makes an error about a value that was set from outside, which the message names.
    pub(crate) fn outside(message: String) -> Self {
        Self { place: None, changed: String::new(), message }
    }

    /// Rewrites an error of the TOML reader in the words of this project.
    pub(crate) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        Self::at(text, error.span().unwrap_or(0..0), in_words(error.message()))
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}{}: ", self.changed)?;
        }
        f.write_str(&self.message)
    }
}

fn in_words(message: &str) -> String {
    let unknown = |kind, rest: &str| {
        let (name, known) = rest.split_once('`')?;
        // Every second piece is in backticks.
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        if known.is_empty() {
            return Some(format!("there is no {kind} `{name}` here; leave it out, there are none"));
        }
        let near = nearest(name, known.iter().copied()).or_else(|| key_for(name, &known));
        let hint = near.map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"));
        Some(format!("there is no {kind} `{name}` here{hint}; there is {}", known.join(", ")))
    };
    let missing = |rest: &str| Some(format!("the key `{}` is missing; add it", rest.strip_suffix('`')?));
    let reworded = if let Some(rest) = message.strip_prefix("unknown field `") {
        unknown("key", rest)
    } else if let Some(rest) = message.strip_prefix("unknown variant `") {
        unknown("choice", rest)
    } else {
        message.strip_prefix("missing field `").and_then(missing)
    };
    reworded.unwrap_or_else(|| without_types(&message.trim_end().replace('\n', "; ")))
}

/// The message without the names of types in the program.
fn without_types(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let expected = match expected {
        "f64" => "a number",
        "i64" | "u64" | "usize" | "u32" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "a map" => "a table in braces",
        "enum" => "one key in it",
        "unit" => "the word alone, in quotes",
        "newtype variant" => "the word as a key, with its value, in braces",
        _ if expected.starts_with("struct ") => "a table in braces",
        _ => expected,
    };
    format!("{}expected {expected}", found_in_words(found))
}

/// Rewrites `invalid type: map, ` as `invalid type: a table, `.
fn found_in_words(found: &str) -> String {
    let kinds = [
        ("floating point ", "number "),
        ("integer ", "whole number "),
        ("map,", "a table,"),
        ("sequence,", "a list,"),
        ("unit variant,", "a word,"),
    ];
    let reworded = found.split_once(": ").and_then(|(mistake, value)| {
        let in_words = |(kind, word)| value.strip_prefix(kind).map(|rest| format!("{mistake}: {word}{rest}"));
        kinds.into_iter().find_map(in_words)
    });
    reworded.unwrap_or_else(|| found.to_owned())
}
