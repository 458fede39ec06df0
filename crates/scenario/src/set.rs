//! Values set from outside: `run.seed=3`, `connection.0.weight=2`.
//!
//! A path has keys and numbers of list entries, counted from 0. Missing tables on the way are created, so that the
//! reader of the file reports a misspelt key as it does any other.

use anabranch_core::spelling::nearest;
use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};

use crate::values::MOST_DEPTH;

/// Returns the text with each value set, in order.
///
/// # Errors
/// The first path that leads nowhere.
pub(crate) fn with_values(text: &str, sets: &[(String, String)]) -> Result<String, String> {
    // The reader of the file reports text that is no TOML.
    let Ok(mut document) = text.parse::<DocumentMut>() else { return Ok(text.to_owned()) };
    for (path, value) in sets {
        set(document.as_item_mut(), path, value).map_err(|reason| format!("`{path}` cannot be set: {reason}"))?;
    }
    Ok(document.to_string())
}

fn set(mut item: &mut Item, path: &str, text: &str) -> Result<(), String> {
    let keys = Key::parse(path).map_err(|_| "write the path like `connection.0.weight`".to_owned())?;
    let keys: Vec<&str> = keys.iter().map(Key::get).collect();
    if keys.len() > MOST_DEPTH {
        return Err(format!("it has {} parts; the deepest place of a scenario has eight", keys.len()));
    }
    let (last, way) = keys.split_last().expect("a path that was parsed has a key");
    for (depth, key) in way.iter().enumerate() {
        item = enter(item, &keys[..depth], key, keys[depth + 1])?;
    }
    put(item, way, last, parsed(text))
}

/// A TOML value, or else the text itself.
fn parsed(text: &str) -> Value {
    text.trim().parse().unwrap_or_else(|_| Value::from(text)).decorated(" ", "")
}

/// The entry `key` of `item`, whose path is `place`; created if `item` is a table without it.
fn enter<'a>(item: &'a mut Item, place: &[&str], key: &str, next: &str) -> Result<&'a mut Item, String> {
    if let Some(length) = length(item) {
        let index = index(place, key, length)?;
        return Ok(item.get_mut(index).expect("the index was checked"));
    }
    let table = table_at(item, place)?;
    if !table.contains_key(key) {
        if next.parse::<usize>().is_ok() {
            let hint = hint(key, table);
            return Err(format!("there is no list {}{hint}; write it into the file", name(place, key)));
        }
        let mut made = Table::new();
        // A table that holds nothing but tables gets no header.
        made.set_implicit(true);
        table.insert(key, Item::Table(made));
    }
    Ok(table.get_mut(key).expect("it was made if it was missing"))
}

fn put(item: &mut Item, place: &[&str], key: &str, value: Value) -> Result<(), String> {
    let Some(length) = length(item) else {
        table_at(item, place)?.insert(key, Item::Value(value));
        return Ok(());
    };
    let index = index(place, key, length)?;
    let entry = item.get_mut(index).expect("the index was checked");
    if entry.is_table() {
        return Err(format!("{} is a table; set its keys one by one", name(place, key)));
    }
    *entry = Item::Value(value);
    Ok(())
}

fn table_at<'a>(item: &'a mut Item, place: &[&str]) -> Result<&'a mut dyn TableLike, String> {
    let kind = item.type_name();
    item.as_table_like_mut().ok_or_else(|| {
        let (last, way) = place.split_last().expect("the whole file is a table");
        format!("{} is no table but a value ({kind}); set it whole", name(way, last))
    })
}

/// The number of entries of a list.
fn length(item: &Item) -> Option<usize> {
    item.as_array().map(toml_edit::Array::len).or(item.as_array_of_tables().map(toml_edit::ArrayOfTables::len))
}

fn index(place: &[&str], key: &str, length: usize) -> Result<usize, String> {
    key.parse().ok().filter(|&n: &usize| n < length).ok_or_else(|| {
        let (last, way) = place.split_last().expect("the whole file is no list");
        let entries = match length {
            0 => "no entry".to_owned(),
            1 => "one entry, number 0".to_owned(),
            _ => format!("{length} entries, numbers 0 to {}", length - 1),
        };
        format!("{} is a list without `{key}`; it has {entries}", name(way, last))
    })
}

fn name(place: &[&str], key: &str) -> String {
    let dotted: String = place.iter().flat_map(|part| [*part, "."]).collect();
    format!("`{dotted}{key}`")
}

fn hint(key: &str, table: &dyn TableLike) -> String {
    let keys: Vec<&str> = table.iter().map(|(key, _)| key).collect();
    nearest(key, keys.into_iter()).map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"))
}
