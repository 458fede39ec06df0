//! The key at a place of a TOML text.

use toml_edit::{Document, Item, Key, TableLike};

use crate::values::check_bounds;

/// Returns the keys and numbers of list entries that lead to the value at a place: the innermost one.
///
/// `line` and `column` count from 1, columns in characters. `None` if the text is no TOML, or nothing is there.
pub fn key_at(text: &str, line: usize, column: usize) -> Option<Vec<String>> {
    check_bounds(text).ok()?;
    let document = Document::parse(text).ok()?;
    let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let within: usize = text[start..].chars().take(column.checked_sub(1)?).map(char::len_utf8).sum();
    let mut path = Vec::new();
    in_table(document.as_table(), start + within, &mut path).then_some(path)
}

/// Extends the path to the place, if the table has it.
fn in_table(table: &dyn TableLike, place: usize, path: &mut Vec<String>) -> bool {
    table.iter().any(|(name, item)| {
        path.push(name.to_owned());
        let is_key = table.key(name).and_then(Key::span).is_some_and(|span| span.contains(&place));
        let found = in_item(item, place, path) || is_key;
        if !found {
            path.pop();
        }
        found
    })
}

fn in_item(item: &Item, place: usize, path: &mut Vec<String>) -> bool {
    let is_own = item.span().is_some_and(|span| span.contains(&place));
    if let Some(table) = item.as_table_like() {
        return in_table(table, place, path) || is_own;
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().enumerate().any(|(number, table)| {
            path.push(number.to_string());
            let is_own = table.span().is_some_and(|span| span.contains(&place));
            let found = in_table(table, place, path) || is_own;
            if !found {
                path.pop();
            }
            found
        });
    }
    if let Some(list) = item.as_array().filter(|_| is_own) {
        for (number, value) in list.iter().enumerate() {
            let Some(table) = value.as_inline_table() else { continue };
            path.push(number.to_string());
            if in_table(table, place, path) || value.span().is_some_and(|span| span.contains(&place)) {
                return true;
            }
            path.pop();
        }
    }
    is_own
}
