//! The control groups that matches name. A service has another group after each start, and none while it does not run; the
//! kernel looks for a group by its path only when a rule is made.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::config::Session;

/// Where the groups of the second version are; with groups of both versions they are in the folder `unified`, which
/// paths name.
const ROOT: &str = "/sys/fs/cgroup";

/// The groups, each with its number in the kernel if it is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Groups(BTreeMap<String, Option<u64>>);

impl Groups {
    /// The groups that sessions name, as they are now.
    pub fn now<'a>(sessions: impl Iterator<Item = &'a Session>) -> Self {
        Self::below(Path::new(ROOT), sessions)
    }

    fn below<'a>(root: &Path, sessions: impl Iterator<Item = &'a Session>) -> Self {
        let names = sessions.flat_map(|session| &session.traffic).filter_map(|traffic| traffic.cgroup.clone());
        let number = |name: &str| fs::metadata(root.join(name)).ok().map(|group| group.ino());
        Self(names.map(|name| (name.clone(), number(&name))).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A session without matches of groups that are known not to be there; `None` if it has no other.
    pub fn matched(&self, session: &Session) -> Option<Session> {
        let mut session = session.clone();
        let is_there = |name: &String| self.0.get(name) != Some(&None);
        session.traffic.retain(|traffic| traffic.cgroup.as_ref().is_none_or(is_there));
        (!session.traffic.is_empty()).then_some(session)
    }

    /// What is wrong with a group, if anything is.
    pub fn problem(&self) -> Option<String> {
        let (name, _) = self.0.iter().find(|(_, number)| number.is_none())?;
        Some(format!("there is no control group `{name}` now; its programs are kept to no rate until there is"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(groups: &[&str]) -> Session {
        let matches: Vec<_> = groups.iter().map(|group| format!("{{ cgroup = \"{group}\" }}")).collect();
        toml::from_str(&format!("name = \"a\"\nto = \"b\"\nmatch = [{}]", matches.join(", "))).unwrap()
    }

    #[test]
    fn matches_of_groups_that_are_not_there_are_left_out_and_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("here")).unwrap();
        let sessions = [session(&["here", "away"]), session(&["away"])];
        let groups = Groups::below(folder.path(), sessions.iter());
        assert_eq!(groups.matched(&sessions[0]).unwrap().traffic, session(&["here"]).traffic);
        assert_eq!(groups.matched(&sessions[1]), None);
        assert!(groups.problem().unwrap().contains("no control group `away` now"));
        // A group that was made anew is another.
        fs::create_dir(folder.path().join("away")).unwrap();
        let later = Groups::below(folder.path(), sessions.iter());
        assert!(later != groups && later.problem().is_none());
    }
}
