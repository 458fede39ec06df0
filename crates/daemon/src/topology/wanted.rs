//! What programs ask of the topology manager and the rendezvous, as they write it.

use anabranch_core::{Network, NodeId};
use anabranch_psi::topology_manager::Kind;
use serde::Deserialize;

use crate::rights::Rights;

/// The most nodes that one request names.
const MOST_SOURCES: usize = 64;

/// The most paths that one request asks for, over all nodes.
const MOST_PATHS: usize = 1024;

/// The most paths from one source of an item.
pub(super) const MOST_OF_SOURCE: usize = 16;

/// The most bytes of the name of an item, and of the place where it is.
const MOST_ITEM: usize = 200;
const MOST_PLACE: usize = 1000;

/// What a program asks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// Paths from some nodes.
    Paths(Paths),
    /// The sources of an item.
    Find(Find),
    /// To be a source of an item.
    Publish(Publish),
}

/// Paths from some nodes to another.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paths {
    /// The node where the paths end.
    pub to: String,
    /// The nodes where they begin.
    pub from: Vec<String>,
    /// The most paths from each.
    #[serde(default = "two")]
    pub count: usize,
    /// Whether the paths of a node may share no link.
    #[serde(default)]
    pub disjoint: bool,
    /// Whether paths that pass through one node are a group, too.
    #[serde(default)]
    pub nodes: bool,
}

/// The sources of an item, with paths from each.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Find {
    /// The item.
    pub item: String,
    /// The node where the paths end.
    pub to: String,
    /// The most paths from each source.
    #[serde(default = "two")]
    pub count: usize,
    /// Whether the paths of a source may share no link.
    #[serde(default)]
    pub disjoint: bool,
    /// Whether paths that pass through one node are a group, too.
    #[serde(default)]
    pub nodes: bool,
}

/// A source of an item.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Publish {
    /// The item.
    pub item: String,
    /// The node where it is.
    pub node: String,
    /// The URL by which it is fetched there.
    pub at: String,
}

fn two() -> usize {
    2
}

/// How paths are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub kind: Kind,
    pub count: usize,
    /// Whether groups are of paths that share nodes.
    pub nodes: bool,
}

impl Search {
    fn new(count: usize, disjoint: bool, nodes: bool) -> Self {
        Self { kind: if disjoint { Kind::Disjoint } else { Kind::Shortest }, count, nodes }
    }
}

impl Wanted {
    /// Reads a question that begins with `paths`, `find` or `publish`; `None` if it begins otherwise.
    ///
    /// # Errors
    /// Returns what is wrong with what follows.
    pub fn read(question: &str) -> Option<Result<Self, String>> {
        fn of<'a, T: Deserialize<'a>>(text: &'a str, make: impl FnOnce(T) -> Wanted) -> Result<Wanted, String> {
            serde_json::from_str(text).map(make).map_err(|error| error.to_string())
        }
        match question.split_once(' ')? {
            ("paths", text) => Some(of(text, Self::Paths)),
            ("find", text) => Some(of(text, Self::Find)),
            ("publish", text) => Some(of(text, Self::Publish)),
            _ => None,
        }
    }

    /// Checks that an application may ask this.
    ///
    /// # Errors
    /// Returns the reason why it may not.
    pub fn check(&self, application: &str, rights: &Rights) -> Result<(), String> {
        match self {
            Self::Paths(wanted) => rights.paths(application, &wanted.to),
            Self::Find(wanted) => rights.find(application, &wanted.item, &wanted.to),
            Self::Publish(wanted) => rights.publish(application, &wanted.item),
        }
    }
}

impl Paths {
    /// The ends of the paths: where they begin and where they end.
    pub(super) fn ends(&self, network: &Network) -> Result<(Vec<NodeId>, NodeId), String> {
        if self.from.len() > MOST_SOURCES {
            return Err(format!("it names {} nodes; name {MOST_SOURCES} at most", self.from.len()));
        }
        let paths = self.from.len().saturating_mul(self.count);
        if paths > MOST_PATHS {
            return Err(format!("it asks for {paths} paths; ask for {MOST_PATHS} at most, over all nodes"));
        }
        let from = self.from.iter().map(|name| node(network, name)).collect::<Result<_, _>>()?;
        Ok((from, node(network, &self.to)?))
    }

    pub(super) fn search(&self) -> Search {
        Search::new(self.count, self.disjoint, self.nodes)
    }
}

impl Find {
    /// The node where the paths end.
    pub(super) fn end(&self, network: &Network) -> Result<NodeId, String> {
        check_item(&self.item)?;
        if !(1..=MOST_OF_SOURCE).contains(&self.count) {
            return Err(format!("count is {}; it must be from 1 to {MOST_OF_SOURCE}", self.count));
        }
        node(network, &self.to)
    }

    pub(super) fn search(&self) -> Search {
        Search::new(self.count, self.disjoint, self.nodes)
    }
}

impl Publish {
    /// The node of the source.
    pub(super) fn source(&self, network: &Network) -> Result<NodeId, String> {
        check_item(&self.item)?;
        let is_url = self.at.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
        if !is_url || self.at.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err("at must be a URL, such as https://192.0.2.1:8080/one".to_owned());
        }
        if self.at.len() > MOST_PLACE {
            return Err(format!("at has {} bytes; it may have {MOST_PLACE}", self.at.len()));
        }
        node(network, &self.node)
    }
}

/// Checks the name of an item.
fn check_item(item: &str) -> Result<(), String> {
    if item.is_empty() || item.len() > MOST_ITEM {
        return Err(format!("the name of an item has 1 to {MOST_ITEM} bytes, not {}", item.len()));
    }
    if item.contains(|letter: char| letter == '*' || letter.is_control()) {
        return Err("the name of an item has no * and no control characters".to_owned());
    }
    Ok(())
}

fn node(network: &Network, name: &str) -> Result<NodeId, String> {
    network.find_node(name).ok_or_else(|| format!("there is no node `{name}`{}", network.node_hint(name)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_question_is_read_or_refused(
            word in "(paths|find|publish|open)? ?",
            text in r#"[{}\[\]":,a-z0-9 \\/*-]{0,120}|\PC{0,60}"#,
        ) {
            let _ = Wanted::read(&format!("{word}{text}"));
        }
    }

    #[test]
    fn what_is_no_item_or_no_place_is_named() {
        let mut builder = anabranch_core::NetworkBuilder::new();
        builder.node("a", None).unwrap();
        let network = builder.build();
        let publish = |item: &str, at: &str| {
            let wanted = Publish { item: item.to_owned(), node: "a".to_owned(), at: at.to_owned() };
            wanted.source(&network).err().unwrap_or_default()
        };
        assert_eq!(publish("one", "https://192.0.2.1/one"), "");
        for (item, at, said) in [
            ("", "x://y", "1 to 200 bytes, not 0"),
            (&"x".repeat(201), "x://y", "1 to 200 bytes, not 201"),
            ("a*", "x://y", "no *"),
            ("a\u{7}", "x://y", "no control characters"),
            ("a", "somewhere", "at must be a URL"),
            ("a", "x://a b", "at must be a URL"),
            ("a", &format!("x://{}", "y".repeat(1000)), "it may have 1000"),
        ] {
            assert!(publish(item, at).contains(said), "{item} {at}: {}", publish(item, at));
        }
        let find = Find { item: "a".to_owned(), to: "a".to_owned(), count: 17, disjoint: false, nodes: false };
        assert_eq!(find.end(&network).unwrap_err(), "count is 17; it must be from 1 to 16");
    }
}
