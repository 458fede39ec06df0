//! Names of shared files: relative paths that cannot lead out of the shared directory.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Greatest length of a name in bytes.
pub const MOST_BYTES: usize = 1024;

/// Greatest number of parts of a name: its directories and the file itself.
pub const MOST_PARTS: usize = 64;

/// The name of a shared file: its path below the shared directory, with `/` between the parts.
///
/// No part is empty, `.` or `..`, and no part contains a backslash, a colon or a control character, so that a name
/// means the same file on every system and leads nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

/// The reason why a name is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum NameError {
    #[error("the name of a file is missing; write it after the host, as in `anabranch://host:4433/data.bin`")]
    Empty,
    #[error(
        "`{0}` leads out of the shared directory; a name has parts with `/` between them, none of them `..` or `.`"
    )]
    LeadsOut(String),
    #[error(
        "`{0}` ends with a slash, as the name of a folder does; leave the slash out, or write the name of a file after it"
    )]
    Folder(String),
    #[error("`{0}` has a slash at its beginning or two in a row; a name has parts with one `/` between them")]
    EmptyPart(String),
    #[error("`{name}` has a part with {what}; rename the file")]
    Character { name: String, what: &'static str },
    #[error("the name has {0} bytes; it may have {MOST_BYTES}")]
    TooLong(usize),
    #[error("the name goes through {0} directories; it may go through {MOST_PARTS}")]
    TooDeep(usize),
}

impl Name {
    /// The name as text, with `/` between its parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts of the name; the last one is the file's own name.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The file's own name.
    pub fn last(&self) -> &str {
        self.parts().last().expect("a name has a part")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > MOST_BYTES {
            return Err(NameError::TooLong(text.len()));
        }
        let parts = text.split('/').count();
        if parts > MOST_PARTS {
            return Err(NameError::TooDeep(parts));
        }
        if text.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(NameError::LeadsOut(text.into()));
        }
        if text.ends_with('/') {
            return Err(NameError::Folder(text.into()));
        }
        if text.split('/').any(str::is_empty) {
            return Err(NameError::EmptyPart(text.into()));
        }
        let forbidden = |what| NameError::Character { name: text.escape_debug().to_string(), what };
        match text.chars().find(|&c| c == '\\' || c == ':' || c.is_control()) {
            Some('\\') => Err(forbidden("a backslash")),
            Some(':') => Err(forbidden("a colon")),
            Some(_) => Err(forbidden("a control character")),
            None => Ok(Self(text.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> Result<Name, NameError> {
        text.parse()
    }

    #[test]
    fn a_name_may_go_through_directories() {
        let name = name("maps/2026/rhine.bin").unwrap();
        assert_eq!(name.parts().collect::<Vec<_>>(), ["maps", "2026", "rhine.bin"]);
        assert_eq!(name.last(), "rhine.bin");
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for text in ["..", "../x", "a/../x", "a/..", "./a", ".", "../"] {
            assert_eq!(name(text), Err(NameError::LeadsOut(text.into())), "{text}");
        }
        for text in ["/etc/passwd", "a//b"] {
            assert_eq!(name(text), Err(NameError::EmptyPart(text.into())), "{text}");
        }
        for text in ["a/", "a//", "/"] {
            assert_eq!(name(text), Err(NameError::Folder(text.into())), "{text}");
        }
        assert_eq!(name(""), Err(NameError::Empty));
    }

    #[test]
    fn a_name_that_another_system_would_read_otherwise_is_refused() {
        for text in ["a\\..\\b", "C:x", "a\0b", "a\nb", "a\u{85}b"] {
            assert!(matches!(name(text), Err(NameError::Character { .. })), "{text:?}");
        }
    }

    #[test]
    fn a_name_beyond_the_limits_is_refused() {
        assert!(name(&"a".repeat(MOST_BYTES)).is_ok());
        assert_eq!(name(&"a".repeat(MOST_BYTES + 1)), Err(NameError::TooLong(MOST_BYTES + 1)));
        assert!(name(&vec!["a"; MOST_PARTS].join("/")).is_ok());
        assert_eq!(name(&vec!["a"; MOST_PARTS + 1].join("/")), Err(NameError::TooDeep(MOST_PARTS + 1)));
    }

    proptest! {
        #[test]
        fn whatever_is_taken_stays_below_the_directory(text in "[a./\\\\:]{0,12}") {
            if let Ok(name) = name(&text) {
                let path = std::path::Path::new(name.as_str());
                prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
                prop_assert_eq!(path.components().count(), name.parts().count());
            }
        }
    }
}
