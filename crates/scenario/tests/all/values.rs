//! TOML read as values, for files other than scenarios.

use anabranch_scenario::{MOST_DEPTH, Value, read_values};
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
    let within = |open: &str, close: &str, times: usize| format!("a = {}{}", open.repeat(times), close.repeat(times));
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
