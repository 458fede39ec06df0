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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        read_values(text).expect_err("it has a mistake").to_string()
    }

    #[test]
    fn values_keep_the_order_of_the_file() {
        let text = "z = 1\n[b.y]\nk = [1.5, true]\n[a]\n[b.x]\n[[l]]\nd.c = \"t\"\nd.b = inf\n[[l]]\n";
        let keys = |own: &Value| match own {
            Value::Table(entries) => entries.iter().map(|(key, _)| key.clone()).collect::<String>(),
            _ => panic!("it is a table"),
        };
        let whole = Value::Table(read_values(text).unwrap());
        assert_eq!(keys(&whole), "zbal");
        let Value::Table(entries) = whole else { panic!("it is a table") };
        assert_eq!(keys(&entries[1].1), "yx");
        let Value::List(list) = &entries[3].1 else { panic!("it is a list") };
        let inner = vec![("c".to_owned(), Value::Text("t".to_owned())), ("b".to_owned(), Value::Number(f64::INFINITY))];
        assert_eq!(list[0], Value::Table(vec![("d".to_owned(), Value::Table(inner))]));
        assert_eq!(list[1], Value::Table(Vec::new()));
    }

    #[test]
    fn what_no_value_can_be_is_refused_where_it_stands() {
        for (text, message) in [
            ("a = 1\nb = 1979-05-27", "line 2, column 5: 1979-05-27 is a date"),
            ("a = 9223372036854775808", "line 1, column 5: this whole number is not between"),
            ("a = [1,\n1e999]", "line 2, column 1: this number is beyond 1.797"),
            ("a = 1\na = 2", "line 2, column 1: duplicate key"),
            ("a = ", "line 1, column 5: "),
        ] {
            assert!(refused(text).starts_with(message), "{}", refused(text));
        }
    }

    #[test]
    fn no_text_goes_deeper_than_the_bound_whatever_it_is_deep_by() {
        let dots = |parts: usize| vec!["a"; parts].join(".");
        let within =
            |open: &str, close: &str, times: usize| format!("a = {}{}", open.repeat(times), close.repeat(times));
        for deep in [
            format!("b = 1\n{} = 1", dots(65)),
            format!("b = 1\n[{}]", dots(65)),
            format!("b = 1\n[[{}]]", dots(65)),
            format!("b = 1\n{}", within("[", "]", 65)),
            format!("b = 1\n{}1{}", "a = { ".repeat(65), " }".repeat(65)),
            format!("[{}]\n{} = 1", dots(40), dots(30)),
            format!("b = 1\n{} = [1, {{ {} = 1 }}]", dots(40), dots(30)),
        ] {
            let said = refused(&deep);
            assert!(said.starts_with("line 2, ") && said.contains("over 64 keys and brackets lie"), "{said}");
        }
        for fine in [
            format!("{} = 1", dots(60)),
            format!("[{}]\nb = 1.5\n{} = 1", dots(30), dots(30)),
            within("[", "]", 60),
            "[[a.b]]\nc = [1.5, 2.5]\n".repeat(100),
            format!("a = [{}]", "1.5, ".repeat(1000)),
            format!("a = \"\"\"\n{}\n\"\"\" # {}", ".[".repeat(100), ".".repeat(100)),
        ] {
            read_values(&fine).unwrap();
        }
    }

    #[test]
    fn many_parts_are_refused_without_being_parsed() {
        assert!(refused(&vec!["a"; 100_000].join(".")).contains("over 64 keys"));
    }

    proptest! {
        #[test]
        fn no_text_is_deeper_than_it_was_counted(parts in proptest::collection::vec("[a.=,{}\\[\\]\n\" 1]{0,12}", 0..40)) {
            fn depth(own: &Value) -> usize {
                let within = |inner: &mut dyn Iterator<Item = &Value>| 1 + inner.map(depth).max().unwrap_or(0);
                match own {
                    Value::List(list) => within(&mut list.iter()),
                    Value::Table(table) => within(&mut table.iter().map(|(_, inner)| inner)),
                    _ => 0,
                }
            }
            if let Ok(table) = read_values(&parts.concat()) {
                prop_assert!(depth(&Value::Table(table)) <= MOST_DEPTH + 1);
            }
        }
    }
}
