//! Values set from outside: `run.seed=3`, `connection.phone.weight=2`, `connection.0.weight=2`.
//!
//! A path has keys, and for entries of lists their names or their numbers, counted from 0. An entry without `name` goes
//! by its ends, as in results: `a>b` for a connection, `a-b` for a link. Missing tables on the way are created, so that
//! the reader of the file reports a misspelt key as it does any other.

use anabranch_core::spelling::nearest;
use toml_edit::{DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

use crate::values::MOST_DEPTH;

/// Keys of places that hold one of several things: its name alone, or a table with the parameters of the thing.
const CHOICES: [&str; 2] = ["protocol", "discipline"];

/// The most names of entries that a message lists.
const MOST_NAMED: usize = 5;

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
    let keys = keys_of(path).ok_or("write the path like `connection.0.weight`")?;
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    if keys.len() > MOST_DEPTH {
        return Err(format!("it has {} parts; the deepest place of a scenario has eight", keys.len()));
    }
    let (last, way) = keys.split_last().expect("a path that was parsed has a key");
    for (depth, key) in way.iter().enumerate() {
        item = enter(item, &keys[..depth], key, keys[depth + 1])?;
    }
    put(item, way, last, parsed(text))
}

/// The keys of a path. Quotes may be left out where no name has a dot, as in `connection.a>b.weight`.
fn keys_of(path: &str) -> Option<Vec<String>> {
    if let Ok(keys) = Key::parse(path) {
        return Some(keys.iter().map(|key| key.get().to_owned()).collect());
    }
    let keys: Vec<String> = path.split('.').map(|key| key.trim().to_owned()).collect();
    let is_plain = |key: &String| !key.is_empty() && !key.contains(['"', '\'', ' ']);
    (keys.len() > 1 && keys.iter().all(is_plain)).then_some(keys)
}

/// A TOML value, or else the text itself.
fn parsed(text: &str) -> Value {
    text.trim().parse().unwrap_or_else(|_| Value::from(text)).decorated(" ", "")
}

/// The entry `key` of `item`, whose path is `place`; created if `item` is a table without it.
fn enter<'a>(item: &'a mut Item, place: &[&str], key: &str, next: &str) -> Result<&'a mut Item, String> {
    if let Some(length) = length(item) {
        let index = index(item, place, key, length)?;
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
    if CHOICES.contains(&key) {
        choose(table.get_mut(key).expect("it was made if it was missing"), next);
    }
    Ok(table.get_mut(key).expect("it was made if it was missing"))
}

/// Makes a place that holds one of several things a table of the thing `name`, whose parameters are to be set.
fn choose(place: &mut Item, name: &str) {
    if place.as_table_like().is_some_and(|table| table.contains_key(name)) {
        return;
    }
    if place.is_str() || place.is_table_like() {
        let mut made = InlineTable::new();
        made.insert(name, Value::InlineTable(InlineTable::new()));
        *place = Item::Value(Value::InlineTable(made));
    }
}

fn put(item: &mut Item, place: &[&str], key: &str, value: Value) -> Result<(), String> {
    let Some(length) = length(item) else {
        table_at(item, place)?.insert(key, Item::Value(value));
        return Ok(());
    };
    let index = index(item, place, key, length)?;
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

/// The number of the entry that `key` names, by its number or its name.
fn index(list: &Item, place: &[&str], key: &str, length: usize) -> Result<usize, String> {
    if let Some(number) = key.parse().ok().filter(|&n: &usize| n < length) {
        return Ok(number);
    }
    let names: Vec<Option<String>> = (0..length).map(|n| list.get(n).and_then(entry_name)).collect();
    let mut found = (0..length).filter(|&n| names[n].as_deref() == Some(key));
    match (found.next(), found.next()) {
        (Some(number), None) => Ok(number),
        (Some(one), Some(other)) => {
            let (last, way) = place.split_last().expect("the whole file is no list");
            Err(format!("{} has several entries `{key}`; give a number, such as {one} or {other}", name(way, last)))
        }
        (None, _) => Err(no_entry(list, place, key, &names)),
    }
}

/// The name of an entry, or else its ends, as results show them.
fn entry_name(entry: &Item) -> Option<String> {
    let ends = || {
        let between = if entry.get("capacity").is_some() { '-' } else { '>' };
        Some(format!("{}{between}{}", text_at(entry, "source")?, text_at(entry, "target")?))
    };
    text_at(entry, "name").map(str::to_owned).or_else(ends)
}

/// Says that a list has no such entry, and which it has.
fn no_entry(list: &Item, place: &[&str], key: &str, names: &[Option<String>]) -> String {
    let (last, way) = place.split_last().expect("the whole file is no list");
    let entries = match names.len() {
        0 => "no entry".to_owned(),
        1 => "one entry, number 0".to_owned(),
        length => format!("{length} entries, numbers 0 to {}", length - 1),
    };
    let known = || names.iter().flatten().map(String::as_str);
    let near = named_by_ends(key, names, list).or_else(|| nearest(key, known()));
    let hint = near.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    let first: Vec<String> = known().take(MOST_NAMED).map(|name| format!("`{name}`")).collect();
    let more = if known().count() > MOST_NAMED { ", ..." } else { "" };
    let named = if first.is_empty() { String::new() } else { format!(": {}{more}", first.join(", ")) };
    format!("{} is a list without `{key}`{hint}; it has {entries}{named}", name(way, last))
}

/// The name of the first entry with the ends `key`, in either direction: links are shown in both.
fn named_by_ends<'a>(key: &str, names: &'a [Option<String>], list: &Item) -> Option<&'a str> {
    let has_ends = |n: usize| list.get(n).is_some_and(|entry| joins(entry, key));
    (0..names.len()).filter(|&n| has_ends(n)).find_map(|n| names[n].as_deref())
}

/// Whether `ends` are those of an entry, as `a-b`, `b-a` or `a>b`.
fn joins(entry: &Item, ends: &str) -> bool {
    let Some((source, target)) = text_at(entry, "source").zip(text_at(entry, "target")) else { return false };
    [format!("{source}-{target}"), format!("{target}-{source}"), format!("{source}>{target}")].iter().any(|e| e == ends)
}

fn text_at<'a>(entry: &'a Item, key: &str) -> Option<&'a str> {
    entry.get(key).and_then(Item::as_str)
}

fn name(place: &[&str], key: &str) -> String {
    let dotted: String = place.iter().flat_map(|part| [*part, "."]).collect();
    format!("`{dotted}{key}`")
}

fn hint(key: &str, table: &dyn TableLike) -> String {
    let keys: Vec<&str> = table.iter().map(|(key, _)| key).collect();
    nearest(key, keys.into_iter()).map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"))
}
