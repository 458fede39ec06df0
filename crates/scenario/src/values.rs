//! TOML as plain values, for files that are read elsewhere, and the bounds of every file.
//!
//! The bounds are checked before the text is parsed: the nesting of keys and brackets, and the number of values. So no
//! file exhausts the stack, and none takes more than some times its size in memory.

use anabranch_core::units::Short;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::error::ScenarioError;

/// The most nested parts of keys and brackets; a scenario has eight.
pub const MOST_DEPTH: usize = 64;

/// The most values in a file: a million connections with ten keys each.
pub const MOST_VALUES: usize = 10_000_000;

/// A TOML value; dates are not supported.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    /// True or false.
    Truth(bool),
    /// A list.
    List(Vec<Value>),
    /// A table, in the order of the file.
    Table(Vec<(String, Value)>),
}

/// Reads a TOML text; its tables keep the order of the file.
///
/// # Errors
/// The first mistake with its place: syntax, a date, a number out of its range, too many values or too much nesting.
pub fn read_values(text: &str) -> Result<Vec<(String, Value)>, ScenarioError> {
    check_bounds(text)?;
    let whole = DeTable::parse(text).map_err(|error| ScenarioError::from_toml(text, &error))?;
    table(text, whole.into_inner())
}

fn table(text: &str, own: DeTable<'_>) -> Result<Vec<(String, Value)>, ScenarioError> {
    let mut entries: Vec<_> = own.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, inner)| Ok((key.into_inner().into_owned(), value(text, inner)?))).collect()
}

fn value(text: &str, own: Spanned<DeValue<'_>>) -> Result<Value, ScenarioError> {
    let at = own.span();
    let refused = |message: String| Err(ScenarioError::at(text, at.clone(), message));
    Ok(match own.into_inner() {
        DeValue::String(own) => Value::Text(own.into_owned()),
        DeValue::Integer(own) => match i64::from_str_radix(own.as_str(), own.radix()) {
            Ok(own) => Value::Whole(own),
            Err(_) => return refused(format!("this whole number is not between {} and {}", i64::MIN, i64::MAX)),
        },
        DeValue::Float(own) => match own.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() || own.as_str().contains("inf") || number.is_nan() => {
                Value::Number(number)
            }
            _ => return refused(format!("this number is beyond {}", Short(f64::MAX))),
        },
        DeValue::Boolean(own) => Value::Truth(own),
        DeValue::Datetime(date) => {
            return refused(format!("{date} is a date, which has no use here; write it in quotes"));
        }
        DeValue::Array(own) => Value::List(own.into_iter().map(|inner| value(text, inner)).collect::<Result<_, _>>()?),
        DeValue::Table(own) => Value::Table(table(text, own)?),
    })
}

/// The nesting of the text at a token.
#[derive(Default)]
struct Depth {
    /// Number of parts of the last header.
    header: usize,
    /// Number of parts of the present key, and of all keys and brackets around it.
    here: usize,
    /// Value of `here` before each open bracket.
    open: Vec<usize>,
    is_header: bool,
}

impl Depth {
    fn take(&mut self, kind: TokenKind, begins_line: bool) {
        match kind {
            TokenKind::LeftSquareBracket if begins_line => (self.is_header, self.here) = (true, 1),
            TokenKind::Dot => self.here += 1,
            TokenKind::Newline if self.open.is_empty() => self.end_line(),
            _ if self.is_header => {}
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                self.open.push(self.here);
                self.here += 1;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                self.here = self.open.pop().unwrap_or(self.here);
            }
            TokenKind::Comma => self.here = self.open.last().map_or(self.header, |&before| before) + 1,
            _ => {}
        }
    }

    fn end_line(&mut self) {
        if self.is_header {
            (self.is_header, self.header) = (false, self.here);
        }
        self.here = self.header + 1;
    }
}

/// Checks that a text keeps the bounds of all files.
///
/// # Errors
/// The place where the nesting is too deep, or where there are too many values.
pub(crate) fn check_bounds(text: &str) -> Result<(), ScenarioError> {
    let mut depth = Depth::default();
    let mut values = 0;
    let mut begins_line = true;
    for token in Source::new(text).lex() {
        let kind = token.kind();
        depth.take(kind, begins_line);
        values += usize::from(matches!(kind, TokenKind::Equals | TokenKind::Comma | TokenKind::LeftSquareBracket));
        let refused = |message| Err(ScenarioError::at(text, token.span().start()..token.span().end(), message));
        if depth.here > MOST_DEPTH {
            return refused(format!("over {MOST_DEPTH} keys and brackets lie within each other here; use fewer"));
        }
        if values > MOST_VALUES {
            return refused(format!(
                "there are over {MOST_VALUES} values until here; divide it, or make them by a rule"
            ));
        }
        begins_line = match kind {
            TokenKind::Newline => depth.open.is_empty(),
            TokenKind::Whitespace => begins_line,
            _ => false,
        };
    }
    Ok(())
}
