//! Edits of a scenario's text that keep all else in it: comments, blank lines, the order of keys.
//!
//! Unlike [`crate::set`], which prepares a text for its reader, an edit is for people who read the text afterwards. It
//! also adds entries to lists of tables, and removes what there is.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value};

use crate::values::{MOST_DEPTH, check_bounds};

/// One change: the keys and numbers of list entries that lead to a place, and the new value there as TOML text.
/// Without a value, what is there is removed. The number after the last entry of a list adds an entry.
pub type Edit = (Vec<String>, Option<String>);

/// Returns the text after each edit, in order.
///
/// # Errors
/// The text is no TOML, a value is none, or a path leads nowhere.
pub fn edited(text: &str, edits: &[Edit]) -> Result<String, String> {
    check_bounds(text).map_err(|error| error.to_string())?;
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    for (path, value) in edits {
        let done = match value {
            Some(value) => put(document.as_item_mut(), path, value),
            None => remove(&mut document, path),
        };
        done.map_err(|reason| format!("`{}` cannot be changed: {reason}", path.join(".")))?;
    }
    Ok(document.to_string())
}

fn put(root: &mut Item, path: &[String], text: &str) -> Result<(), String> {
    check_bounds(text).map_err(|error| error.message)?;
    let value: Value = text.trim().parse().map_err(|_| format!("`{text}` is no value of TOML"))?;
    let (last, way) = path.split_last().ok_or("there is no key; name one")?;
    if path.len() > MOST_DEPTH {
        return Err("it lies deeper than anything in a scenario".to_owned());
    }
    if let (Some((list, before)), true) = (way.split_last(), last == "0" && value.is_inline_table()) {
        let holder = table_of(walk(root, before)?)?;
        if !holder.contains_key(list) {
            holder.insert(list, Item::ArrayOfTables(ArrayOfTables::new()));
        }
    }
    let is_top = way.is_empty();
    match walk(root, way)? {
        Item::ArrayOfTables(list) => put_table(list, last, value),
        Item::Value(Value::Array(list)) => put_entry(list, last, value),
        holder => {
            put_key(table_of(holder)?, last, value, is_top);
            Ok(())
        }
    }
}

fn put_table(list: &mut ArrayOfTables, number: &str, value: Value) -> Result<(), String> {
    let Value::InlineTable(table) = value else { return Err("entries of this list are tables".to_owned()) };
    match number.parse() {
        Ok(number) if number < list.len() => {
            let old = list.get_mut(number).expect("the number was checked");
            replace(old, table);
        }
        Ok(number) if number == list.len() => list.push(table.into_table()),
        _ => return Err(no_entry(number, list.len())),
    }
    Ok(())
}

fn put_entry(list: &mut Array, number: &str, mut value: Value) -> Result<(), String> {
    match number.parse() {
        Ok(number) if number < list.len() => {
            let old = list.get_mut(number).expect("the number was checked");
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Ok(number) if number == list.len() => list.push(value),
        _ => return Err(no_entry(number, list.len())),
    }
    Ok(())
}

/// Sets a key. Its comments stay, and a table of the whole file that is new gets a header.
fn put_key(holder: &mut dyn TableLike, key: &str, mut value: Value, is_top: bool) {
    match (holder.get_mut(key), value) {
        (Some(Item::Table(old)), Value::InlineTable(new)) => replace(old, new),
        (Some(Item::Value(old)), mut new) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        (None, Value::InlineTable(new)) if is_top => {
            holder.insert(key, Item::Table(new.into_table()));
        }
        (_, new) => {
            value = new;
            value.decor_mut().set_prefix(" ");
            holder.insert(key, Item::Value(value));
        }
    }
}

/// Gives a table other keys; its header and the comments above that stay.
fn replace(old: &mut Table, new: InlineTable) {
    old.clear();
    for (key, item) in new.into_table() {
        old.insert(&key, item);
    }
    old.set_implicit(false);
}

/// Removes what is at a path. Comments above it stay: they move to what comes next.
fn remove(document: &mut DocumentMut, path: &[String]) -> Result<(), String> {
    let (last, way) = path.split_last().ok_or("there is no key; name one")?;
    let (comments, place) = match walk(document.as_item_mut(), way)? {
        Item::ArrayOfTables(list) => {
            let number = number_in(last, list.len())?;
            let gone = list.remove(number);
            if list.is_empty() {
                let (key, before) = way.split_last().expect("a list has a key");
                table_of(walk(document.as_item_mut(), before)?)?.remove(key);
            }
            (comments_of(gone.decor().prefix()), gone.position())
        }
        Item::Value(Value::Array(list)) => {
            list.remove(number_in(last, list.len())?);
            return Ok(());
        }
        Item::Table(holder) => {
            let (key, gone) = holder.remove_entry(last).ok_or("there is no such key")?;
            if let Item::Table(table) = &gone {
                (comments_of(table.decor().prefix()), table.position())
            } else {
                let comments = comments_of(key.leaf_decor().prefix());
                if move_to_a_key(holder, &comments) {
                    return Ok(());
                }
                (comments, holder.position())
            }
        }
        holder => {
            table_of(holder)?.remove(last).ok_or("there is no such key")?;
            return Ok(());
        }
    };
    move_below(document, &comments, place);
    Ok(())
}

/// Puts comments above the first key that is left in a table, if there is one.
fn move_to_a_key(holder: &mut Table, comments: &str) -> bool {
    let next = holder.iter().find(|(_, item)| item.is_value()).map(|(key, _)| key.to_owned());
    let Some(mut key) = next.as_deref().and_then(|key| holder.key_mut(key)) else { return false };
    let own = comments.to_owned() + text_of(key.leaf_decor().prefix());
    key.leaf_decor_mut().set_prefix(own);
    true
}

/// Puts comments above the next header below a place, or at the end of the text.
fn move_below(document: &mut DocumentMut, comments: &str, place: Option<isize>) {
    if comments.is_empty() {
        return;
    }
    let mut next = None;
    visit(document.as_table_mut(), &mut |table| {
        let position = table.position().filter(|own| !table.is_implicit() && place.is_none_or(|place| *own > place));
        next = next.into_iter().chain(position).min();
    });
    let Some(next) = next else {
        let own = text_of(Some(document.trailing())).to_owned() + comments;
        document.set_trailing(own);
        return;
    };
    visit(document.as_table_mut(), &mut |table| {
        if table.position() == Some(next) && !table.is_implicit() {
            let own = comments.to_owned() + text_of(table.decor().prefix());
            table.decor_mut().set_prefix(own);
        }
    });
}

/// Calls `see` with all tables that have headers, below a table.
fn visit(table: &mut Table, see: &mut dyn FnMut(&mut Table)) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => {
                see(table);
                visit(table, see);
            }
            Item::ArrayOfTables(list) => {
                for table in list.iter_mut() {
                    see(table);
                    visit(table, see);
                }
            }
            _ => {}
        }
    }
}

/// The space before an item, if there is a comment in it.
fn comments_of(prefix: Option<&RawString>) -> String {
    let text = text_of(prefix);
    if text.contains('#') { text.to_owned() } else { String::new() }
}

fn text_of(raw: Option<&RawString>) -> &str {
    raw.and_then(RawString::as_str).unwrap_or_default()
}

/// The item at a path; missing tables on the way are created.
fn walk<'a>(mut item: &'a mut Item, path: &[String]) -> Result<&'a mut Item, String> {
    for key in path {
        let length = item.as_array().map(Array::len).or(item.as_array_of_tables().map(ArrayOfTables::len));
        item = if let Some(length) = length {
            let number = number_in(key, length)?;
            item.get_mut(number).ok_or_else(|| "a list within a list is changed as a whole".to_owned())?
        } else {
            let table = table_of(item)?;
            if !table.contains_key(key) {
                let mut made = Table::new();
                made.set_implicit(true);
                table.insert(key, Item::Table(made));
            }
            table.get_mut(key).expect("it was made if it was missing")
        };
    }
    Ok(item)
}

fn table_of(item: &mut Item) -> Result<&mut dyn TableLike, String> {
    item.as_table_like_mut().ok_or_else(|| "it lies in a value that is no table".to_owned())
}

fn number_in(text: &str, length: usize) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number < length).ok_or_else(|| no_entry(text, length))
}

fn no_entry(number: &str, length: usize) -> String {
    format!("there is no entry `{number}` in a list of {length}")
}
