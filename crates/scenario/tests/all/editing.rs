//! Edits of a text that people go on to read.

use anabranch_scenario::{Edit, edited, key_at, read_values};
use proptest::prelude::*;

const TEXT: &str = "\
# Two nodes,
#   a --- b
title = \"Pair\" # short

[run]
# Long enough to settle.
duration = \"4 s\" # not longer
seed = 1

# The only link.
[[link]]
source = \"a\"
target = \"b\" # its end
capacity = \"1 Mbit/s\"

[[connection]]
source = \"a\"
target = \"b\"
";

fn edit(path: &str, value: Option<&str>) -> Edit {
    (path.split('.').map(str::to_owned).collect(), value.map(str::to_owned))
}

fn after(edits: &[(&str, Option<&str>)]) -> String {
    let edits: Vec<Edit> = edits.iter().map(|&(path, value)| edit(path, value)).collect();
    edited(TEXT, &edits).unwrap()
}

#[test]
fn a_value_changes_and_every_comment_and_blank_line_stays() {
    let text = after(&[("run.duration", Some("\"9 s\"")), ("link.0.target", Some("'c'"))]);
    assert_eq!(text, TEXT.replace("\"4 s\"", "\"9 s\"").replace("\"b\" # its", "'c' # its"));
}

#[test]
fn new_keys_come_last_in_their_table_and_new_tables_get_headers() {
    let text =
        after(&[("link.0.delay", Some("\"5 ms\"")), ("defaults", Some("{ connection = { protocol = \"lia\" } }"))]);
    assert!(text.contains("capacity = \"1 Mbit/s\"\ndelay = \"5 ms\"\n\n[[connection]]"), "{text}");
    assert!(text.ends_with("target = \"b\"\n\n[defaults]\nconnection = { protocol = \"lia\" }\n"), "{text}");
    assert!(
        after(&[("defaults.link.queue", Some("\"9 packets\""))]).contains("[defaults.link]\nqueue = \"9 packets\"")
    );
}

#[test]
fn the_number_after_the_last_entry_adds_one() {
    let text = after(&[("connection.1", Some("{ source = \"b\", target = \"a\" }"))]);
    assert_eq!(text, format!("{TEXT}\n[[connection]]\nsource = \"b\"\ntarget = \"a\"\n"));
    assert!(after(&[("node.0", Some("{ name = \"x\" }"))]).contains("\n[[node]]\nname = \"x\"\n"));
    let error = edited(TEXT, &[edit("connection.2", Some("{}"))]).unwrap_err();
    assert_eq!(error, "`connection.2` cannot be changed: there is no entry `2` in a list of 1");
}

#[test]
fn what_is_removed_leaves_the_comments_above_it() {
    let text = after(&[("run.duration", None), ("title", None), ("link.0", None)]);
    let expected = "\
# Two nodes,
#   a --- b

[run]
# Long enough to settle.
seed = 1

# The only link.

[[connection]]
source = \"a\"
target = \"b\"
";
    assert_eq!(text, expected);
    let emptied = after(&[("run.duration", None), ("run.seed", None), ("connection.0", None)]);
    assert!(emptied.contains("[run]\n# Long enough to settle.\n\n# The only link.\n[[link]]"), "{emptied}");
    assert!(!emptied.contains("connection"), "{emptied}");
}

#[test]
fn a_table_is_replaced_by_a_value_and_a_value_by_a_table() {
    let named = "[[connection]]\n[connection.protocol.reno]\ninitial = 2\n";
    let text = edited(named, &[edit("connection.0.protocol", Some("\"lia\""))]).unwrap();
    assert_eq!(text, "[[connection]]\nprotocol = \"lia\"\n");
    let text = edited(&text, &[edit("connection.0.protocol", Some("{ reno = {} }"))]).unwrap();
    assert_eq!(text, "[[connection]]\nprotocol = { reno = {} }\n");
}

#[test]
fn the_key_at_a_place_is_the_innermost_one() {
    let key = |line, column| key_at(TEXT, line, column).map(|path| path.join("."));
    assert_eq!(key(3, 1).as_deref(), Some("title"));
    assert_eq!(key(7, 12).as_deref(), Some("run.duration"));
    assert_eq!(key(11, 1).as_deref(), Some("link.0"));
    assert_eq!(key(13, 10).as_deref(), Some("link.0.target"));
    assert_eq!(key(16, 3).as_deref(), Some("connection.0"));
    assert_eq!(key(1, 1), None);
    assert_eq!(key(900, 900), None);
    let inline = "link = [{ source = 1 }, { source = 2 }]\n\"ü\" = { a = { b = 3 } }";
    assert_eq!(key_at(inline, 1, 36), Some(vec!["link".into(), "1".into(), "source".into()]));
    assert_eq!(key_at(inline, 2, 19), Some(vec!["ü".into(), "a".into(), "b".into()]));
}

proptest! {
    #[test]
    fn any_edit_gives_toml_or_an_error(
        text in "(# c\n|\n|\\[a\\]\n|\\[\\[l\\]\\]\n|\\[a\\.b\\]\n|k = 1\n|a.b = 2 # d\n|l = \\[1, \\{\\}\\]\n|x = \\{ y = 1 \\}\n){0,8}",
        edits in prop::collection::vec(
            (prop::collection::vec("a|b|k|l|x|y|0|1|ü k", 0..4), prop::option::of("1|\"t\"|\\{ y = 2 \\}|\\[\\{\\}\\]|!")), 0..5),
    ) {
        if let Ok(text) = edited(&text, &edits) {
            prop_assert!(read_values(&text).is_ok(), "{text}");
        }
        for line in 0..10 {
            let _ = key_at(&text, line, line);
        }
    }
}
