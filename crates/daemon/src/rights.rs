//! What applications may ask, by the names in their certificates.

use std::sync::Arc;

use anabranch_core::Rate;
use anabranch_core::quantity::RateText;
use anabranch_core::units::Short;
use serde::Deserialize;
use tokio::sync::watch;

use crate::config::{demand, hint, positive};
use crate::network::Map;

/// What an application may ask.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// The name in the certificate of the application.
    pub name: String,
    /// What it may do: the names of rights.
    #[serde(default = "rates")]
    pub may: Vec<String>,
    /// The nodes to which it may ask for rates and paths; `*` for all.
    #[serde(default = "everywhere")]
    pub to: Vec<String>,
    /// The items that it may publish or find: names, which may end with `*`.
    #[serde(default)]
    pub items: Vec<String>,
    /// Greatest demand of a session.
    #[serde(default)]
    pub most: Option<RateText>,
    /// Greatest weight of a session.
    #[serde(default = "one")]
    pub weight: f64,
    /// Greatest reserved part of a session; none without it.
    #[serde(default)]
    pub reserved: Option<RateText>,
    /// Greatest number of sessions at a time.
    #[serde(default = "some")]
    pub sessions: usize,
}

fn rates() -> Vec<String> {
    vec![Right::Rates.name().to_owned()]
}

fn everywhere() -> Vec<String> {
    vec!["*".to_owned()]
}

fn one() -> f64 {
    1.0
}

fn some() -> usize {
    100
}

/// Something that an application may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Ask for rates.
    Rates,
    /// Ask for paths.
    Paths,
    /// Publish items.
    Publish,
    /// Find who publishes items.
    Find,
}

impl Right {
    const ALL: [Self; 4] = [Self::Rates, Self::Paths, Self::Publish, Self::Find];

    /// The name of the right in the file.
    fn name(self) -> &'static str {
        match self {
            Self::Rates => "rates",
            Self::Paths => "paths",
            Self::Publish => "publish",
            Self::Find => "find",
        }
    }

    /// What it is that one may do, after `may`.
    fn words(self) -> &'static str {
        match self {
            Self::Rates => "ask for rates",
            Self::Paths => "ask for paths",
            Self::Publish => "publish",
            Self::Find => "find",
        }
    }
}

impl Application {
    /// Checks an entry of the file of an agent.
    ///
    /// # Errors
    /// Returns an error that names the application, the key and what would do.
    pub(crate) fn check(&self, map: &Map) -> Result<(), String> {
        let wrong = |key: &str, reason: String| Err(format!("application `{}`: {key}{reason}", self.name));
        let known = Right::ALL.map(Right::name);
        if let Some(other) = self.may.iter().find(|name| !known.contains(&name.as_str())) {
            let (hint, known) = (hint(other, known.into_iter()), known.join("\", \""));
            return wrong("may: ", format!("there is no right `{other}`{hint}; it may have \"{known}\""));
        }
        if let Some(error) = self.to.iter().filter(|to| *to != "*").find_map(|to| map.node(to).err()) {
            return wrong("", error);
        }
        let is_odd = |item: &&String| item.is_empty() || item.strip_suffix('*').unwrap_or(item).contains('*');
        if let Some(odd) = self.items.iter().find(is_odd) {
            return wrong(
                "items: ",
                format!("`{odd}` is no name of items; * stands at its end alone, as in \"videos/*\""),
            );
        }
        if self.items.is_empty() && (self.has(Right::Publish) || self.has(Right::Find)) {
            let reason = "it may publish or find, but no item; write some, such as items = [\"videos/*\"], or [\"*\"]";
            return wrong("items: ", reason.to_owned());
        }
        positive(self.weight).or_else(|error| wrong("weight ", error))
    }

    fn has(&self, right: Right) -> bool {
        self.may.iter().any(|name| name == right.name())
    }

    /// Checks that it may do something.
    fn may(&self, right: Right) -> Result<(), String> {
        let Self { name, may, .. } = self;
        if self.has(right) {
            return Ok(());
        }
        let (words, present) = (right.words(), may.join("\", \""));
        Err(format!(
            "`{name}` may not {words}: the agent's file says may = [\"{present}\"]; it takes \"{}\"",
            right.name()
        ))
    }

    fn reaches(&self, what: &str, to: &str) -> Result<(), String> {
        if self.to.iter().any(|allowed| allowed == "*" || allowed == to) {
            return Ok(());
        }
        Err(format!("`{}` may not {what} to `{to}`, but to {}", self.name, self.to.join(", ")))
    }

    fn has_item(&self, right: Right, item: &str) -> Result<(), String> {
        let fits =
            |allowed: &String| allowed.strip_suffix('*').map_or(allowed == item, |begin| item.starts_with(begin));
        if self.items.iter().any(fits) {
            return Ok(());
        }
        let (name, words, items) = (&self.name, right.words(), self.items.join("\", \""));
        Err(format!("`{name}` may not {words} `{item}`: the agent's file says items = [\"{items}\"]"))
    }
}

/// The most that an application may ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub demand: Rate,
    pub sessions: usize,
}

/// The rights of applications, which can change. Programs of the same machine, and the agent itself, have no name and all
/// rights.
#[derive(Clone, Debug)]
pub(crate) struct Rights(watch::Sender<Arc<Vec<Application>>>);

impl Rights {
    pub fn new(all: Vec<Application>) -> Self {
        Self(watch::Sender::new(Arc::new(all)))
    }

    pub fn set(&self, all: Vec<Application>) {
        self.0.send_replace(Arc::new(all));
    }

    /// Tells of changes.
    pub fn changes(&self) -> watch::Receiver<Arc<Vec<Application>>> {
        self.0.subscribe()
    }

    /// Does something with the rights of an application.
    fn of<T>(&self, application: &str, check: impl FnOnce(&Application) -> Result<T, String>) -> Result<T, String> {
        let all = self.0.borrow().clone();
        let own = all.iter().find(|rights| rights.name == application);
        check(own.ok_or_else(|| format!("this agent knows no application `{application}`"))?)
    }

    /// Checks a session, and gives what else bounds it.
    ///
    /// # Errors
    /// Returns the reason why it may not be.
    pub fn session(&self, application: &str, to: &str, weight: f64, reserved: f64) -> Result<Bounds, String> {
        if application.is_empty() {
            return Ok(Bounds { demand: Rate(f64::INFINITY), sessions: usize::MAX });
        }
        self.of(application, |own| {
            own.may(Right::Rates)?;
            own.reaches("ask for rates", to)?;
            if weight > own.weight {
                return Err(format!("`{application}` may ask with a weight of at most {}, not {weight}", own.weight));
            }
            let most = own.reserved.map_or(0.0, |rate| rate.0.0);
            if reserved > most {
                let (most, reserved) = (Short(most), Short(reserved));
                return Err(format!("`{application}` may reserve at most {most} bit/s, not {reserved}"));
            }
            Ok(Bounds { demand: demand(own.most), sessions: own.sessions })
        })
    }

    /// Checks a request for paths to a node.
    ///
    /// # Errors
    /// Returns the reason why it may not be.
    pub fn paths(&self, application: &str, to: &str) -> Result<(), String> {
        self.check(application, |own| {
            own.may(Right::Paths)?;
            own.reaches("ask for paths", to)
        })
    }

    /// Checks that an application may publish an item.
    ///
    /// # Errors
    /// Returns the reason why it may not.
    pub fn publish(&self, application: &str, item: &str) -> Result<(), String> {
        self.check(application, |own| {
            own.may(Right::Publish)?;
            own.has_item(Right::Publish, item)
        })
    }

    /// Checks that an application may find an item, and paths to a node.
    ///
    /// # Errors
    /// Returns the reason why it may not.
    pub fn find(&self, application: &str, item: &str, to: &str) -> Result<(), String> {
        self.check(application, |own| {
            own.may(Right::Find)?;
            own.has_item(Right::Find, item)?;
            own.reaches("find what has paths", to)
        })
    }

    fn check(&self, application: &str, check: impl FnOnce(&Application) -> Result<(), String>) -> Result<(), String> {
        if application.is_empty() { Ok(()) } else { self.of(application, check) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(text: &str) -> Rights {
        let application: Application = toml::from_str(&format!("name = \"app\"\n{text}")).unwrap();
        Rights::new(vec![application])
    }

    #[test]
    fn an_entry_without_rights_may_ask_for_rates_alone() {
        let old = rights("to = [\"d\"]\n");
        assert!(old.session("app", "d", 1.0, 0.0).is_ok());
        assert_eq!(old.session("app", "c", 1.0, 0.0).unwrap_err(), "`app` may not ask for rates to `c`, but to d");
        for refused in [old.paths("app", "d"), old.publish("app", "x"), old.find("app", "x", "d")] {
            assert!(refused.unwrap_err().contains("the agent's file says may = [\"rates\"]; it takes \""));
        }
        assert!(old.paths("other", "d").unwrap_err().contains("knows no application `other`"));
        assert!(old.paths("", "anywhere").is_ok(), "programs of the same machine have all rights");
    }

    #[test]
    fn items_are_names_or_begin_as_names_do() {
        let some = rights("may = [\"find\", \"publish\"]\nitems = [\"videos/*\", \"one\"]\n");
        for (item, may) in [("videos/a", true), ("videos/", true), ("video", false), ("one", true), ("ones", false)] {
            assert_eq!((some.publish("app", item).is_ok(), some.find("app", item, "d").is_ok()), (may, may), "{item}");
        }
        let said = some.find("app", "music", "d").unwrap_err();
        assert_eq!(said, "`app` may not find `music`: the agent's file says items = [\"videos/*\", \"one\"]");
        assert!(rights("may = [\"find\"]\nitems = [\"*\"]").find("app", "anything", "d").is_ok());
        assert!(some.session("app", "d", 1.0, 0.0).is_err(), "rates are not among its rights");
    }
}
