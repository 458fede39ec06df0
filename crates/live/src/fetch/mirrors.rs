//! The decision which file the mirrors of a fetch have, and which mirrors may take part.
//!
//! Where nothing is known but what the mirrors say, they must agree: in the size of the file and, if no hash is given
//! either, in the time of its last change, as far as they say it. Mirrors that do not say it agree in size alone, which
//! proves nothing; they are used together, and the fetch says so. A mirror that joins later must agree with what was
//! decided, and with what it said itself before.

use std::fmt;

use crate::web::{Facts, WebUrl};

/// What a mirror says of its file, in an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub url: String,
    pub size: u64,
    pub last_modified: Option<String>,
}

impl fmt::Display for Said {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} has {} bytes", self.url, self.size)?;
        self.last_modified.iter().try_for_each(|time| write!(formatter, " of {time}"))
    }
}

/// What is known of the file beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Size of the file in bytes, if it was given.
    pub size: Option<u64>,
    /// Whether a hash of the file or of its chunks will show that it is right.
    pub has_hash: bool,
}

/// What was decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Size of the file in bytes.
    pub size: u64,
    /// Whether the file is requested in parts; otherwise one mirror sends all of it.
    pub is_in_parts: bool,
    /// Time of the last change of the file, where it counts.
    last_modified: Option<String>,
}

/// The reports of all lanes to mirrors.
#[derive(Debug)]
pub struct Mirrors {
    known: Known,
    /// What each lane found.
    found: Vec<Option<(WebUrl, Facts)>>,
    /// Whether each lane may still report.
    is_awaited: Vec<bool>,
    /// What mirrors said in earlier fetches of which chunks are on the disk.
    before: Vec<(WebUrl, Facts)>,
    /// What mirrors said that have taken part in this fetch.
    taken: Vec<(WebUrl, Facts)>,
    decided: Option<Decided>,
}

impl Mirrors {
    /// Creates the state before any report.
    pub fn new(known: Known, is_awaited: Vec<bool>) -> Self {
        let found = vec![None; is_awaited.len()];
        Self { known, found, is_awaited, before: Vec::new(), taken: Vec::new(), decided: None }
    }

    /// What was decided on, if it was.
    pub fn decided(&self) -> Option<&Decided> {
        self.decided.as_ref()
    }

    /// Records what a lane found.
    pub fn on_found(&mut self, lane: usize, url: WebUrl, facts: Facts) {
        self.found[lane] = Some((url, facts));
    }

    /// Records that a lane cannot be used now.
    pub fn on_lost(&mut self, lane: usize) {
        self.is_awaited[lane] = false;
        self.found[lane] = None;
    }

    /// Sets the size that sharers gave, whose tree verifies all chunks.
    pub fn settle(&mut self, size: u64) {
        self.decided = Some(Decided { size, is_in_parts: true, last_modified: None });
    }

    /// Adds what mirrors said in earlier fetches of which chunks are on the disk.
    pub fn remember(&mut self, before: Vec<(WebUrl, Facts)>) {
        self.before = before;
    }

    /// Records that a mirror takes part; returns whether this is the first time.
    pub fn take(&mut self, url: &WebUrl, facts: &Facts) -> bool {
        let is_new = self.earlier(url).is_none();
        if is_new {
            self.taken.push((url.clone(), facts.clone()));
        }
        is_new
    }

    /// Whether chunks of several mirrors are put together which agree in the size of the file, but not in the time of its
    /// last change, since no hash shows that they have the same file.
    pub fn agree_in_size_alone(&self) -> bool {
        let mut all = self.before.iter().chain(&self.taken);
        let Some((first, said)) = all.next().filter(|_| !self.known.has_hash) else { return false };
        let is_one_time = |facts: &Facts| said.last_modified.is_some() && facts.last_modified == said.last_modified;
        all.any(|(url, facts)| url != first && !is_one_time(facts))
    }

    /// What a mirror said before, the last time.
    fn earlier(&self, url: &WebUrl) -> Option<&Facts> {
        let all = self.taken.iter().chain(self.before.iter().rev());
        all.map(|(other, facts)| (other, facts)).find(|(other, _)| *other == url).map(|(_, facts)| facts)
    }

    /// Decides on the file if possible, at the latest when `is_up` is true; returns whether it is decided now.
    ///
    /// # Errors
    /// If mirrors contradict each other, and nothing shows which is right: what each says.
    pub fn decide(&mut self, is_up: bool) -> Result<bool, Vec<Said>> {
        let is_open = self.found.iter().zip(&self.is_awaited).any(|(found, is_awaited)| found.is_none() && *is_awaited);
        if self.decided.is_some() || (is_open && !is_up && !self.is_enough()) {
            return Ok(false);
        }
        let usable: Vec<&(WebUrl, Facts)> = self.found.iter().flatten().filter(|(_, facts)| self.fits(facts)).collect();
        let Some((_, first)) = usable.first() else { return Ok(false) };
        let times: Vec<&String> = usable.iter().filter_map(|(_, facts)| facts.last_modified.as_ref()).collect();
        let is_one_size = usable.iter().all(|(_, facts)| facts.size == first.size);
        let is_one_time = self.known.has_hash || times.windows(2).all(|pair| pair[0] == pair[1]);
        if !is_one_size || !is_one_time {
            return Err(usable.iter().map(|(url, facts)| said(url, facts)).collect());
        }
        self.decided = Some(Decided {
            size: self.known.size.or(first.size).expect("a size is known"),
            is_in_parts: usable.iter().any(|(_, facts)| facts.takes_ranges),
            last_modified: times.first().filter(|_| !self.known.has_hash).map(|&time| time.clone()),
        });
        Ok(true)
    }

    /// Whether what is known suffices to begin with the first good mirror.
    fn is_enough(&self) -> bool {
        let is_good = |(_, facts): &(WebUrl, Facts)| facts.takes_ranges && facts.size == self.known.size;
        self.known.size.is_some() && self.known.has_hash && self.found.iter().flatten().any(is_good)
    }

    /// Whether a mirror says a size that may be right.
    fn fits(&self, facts: &Facts) -> bool {
        match (self.known.size, facts.size) {
            (Some(known), Some(said)) => known == said,
            (known, said) => known.or(said).is_some(),
        }
    }

    /// Checks that a mirror may take part, once the file is decided on; with `is_verified`, all chunks are verified.
    ///
    /// # Errors
    /// If it may not: the reason.
    pub fn check(&self, url: &WebUrl, facts: &Facts, is_verified: bool) -> Result<(), String> {
        let Some(decided) = &self.decided else { return Ok(()) };
        let Some(size) = facts.size.or(self.known.size) else {
            return Err("it does not say how large the file is".to_owned());
        };
        if size != decided.size {
            return Err(format!("its file has {size} bytes, not {}", decided.size));
        }
        if decided.is_in_parts && !facts.takes_ranges {
            return Err("it sends no parts of files, and others do".to_owned());
        }
        if is_verified {
            return Ok(());
        }
        if let (Some(time), Some(own)) = (&decided.last_modified, &facts.last_modified)
            && time != own
        {
            return Err(format!("its file is of {own}, that of the others of {time}"));
        }
        self.check_before(url, facts)
    }

    /// Checks that the file is the one of which chunks are on the disk.
    fn check_before(&self, url: &WebUrl, facts: &Facts) -> Result<(), String> {
        let changed = || "the file has changed there since the fetch began; remove the unfinished file to begin anew";
        if let Some(earlier) = self.earlier(url) {
            return if earlier.is_same(facts) { Ok(()) } else { Err(changed().to_owned()) };
        }
        let is_known =
            |(_, other): &(WebUrl, Facts)| facts.last_modified.is_some() && other.last_modified == facts.last_modified;
        if self.known.has_hash || self.before.is_empty() || self.before.iter().any(is_known) {
            return Ok(());
        }
        Err("nothing shows that it has the file that was begun; give the hash of the file, or remove the unfinished file"
            .to_owned())
    }
}

fn said(url: &WebUrl, facts: &Facts) -> Said {
    Said { url: url.to_string(), size: facts.size.unwrap_or(0), last_modified: facts.last_modified.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(host: &str) -> WebUrl {
        format!("http://{host}/x").parse().unwrap()
    }

    fn facts(size: u64, time: Option<&str>) -> Facts {
        Facts { size: Some(size), takes_ranges: true, etag: None, last_modified: time.map(str::to_owned) }
    }

    fn mirrors(known: Known, all: &[Facts]) -> Mirrors {
        let mut mirrors = Mirrors::new(known, vec![true; all.len()]);
        for (lane, facts) in all.iter().enumerate() {
            mirrors.on_found(lane, url(&lane.to_string()), facts.clone());
        }
        mirrors
    }

    const NOTHING: Known = Known { size: None, has_hash: false };
    const HASH: Known = Known { size: None, has_hash: true };

    #[test]
    fn mirrors_that_agree_are_believed_once_all_have_reported() {
        let mut mirrors = Mirrors::new(NOTHING, vec![true; 2]);
        mirrors.on_found(0, url("a"), facts(5, Some("1")));
        assert_eq!(mirrors.decide(false), Ok(false), "the second may still report");
        mirrors.on_lost(1);
        assert_eq!((mirrors.decide(false), mirrors.decide(false)), (Ok(true), Ok(false)));
        assert_eq!(mirrors.decided().unwrap().size, 5);
        assert!(mirrors.check(&url("b"), &facts(5, None), false).is_ok());
        let error = mirrors.check(&url("b"), &facts(5, Some("2")), false).unwrap_err();
        assert_eq!(error, "its file is of 2, that of the others of 1");
        assert_eq!(mirrors.check(&url("b"), &facts(6, None), true).unwrap_err(), "its file has 6 bytes, not 5");
    }

    #[test]
    fn mirrors_that_contradict_each_other_are_an_error() {
        let said = mirrors(NOTHING, &[facts(5, None), facts(6, None)]).decide(false).unwrap_err();
        let said: Vec<_> = said.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["http://0/x has 5 bytes", "http://1/x has 6 bytes"]);
        assert!(mirrors(NOTHING, &[facts(5, Some("1")), facts(5, Some("2"))]).decide(false).is_err());
        assert_eq!(mirrors(HASH, &[facts(5, Some("1")), facts(5, Some("2"))]).decide(false), Ok(true));
        assert!(mirrors(HASH, &[facts(5, None), facts(6, None)]).decide(false).is_err(), "a hash has no size");
    }

    #[test]
    fn mirrors_that_do_not_say_when_the_file_last_changed_agree_in_size_alone() {
        let took = |known, all: &[(&str, Option<&str>)]| {
            let mut took = mirrors(known, &[facts(5, None)]);
            for (host, time) in all {
                took.take(&url(host), &facts(5, *time));
            }
            took.agree_in_size_alone()
        };
        assert!(took(NOTHING, &[("a", None), ("b", None)]));
        assert!(took(NOTHING, &[("a", Some("1")), ("b", None)]) && took(NOTHING, &[("a", None), ("b", Some("1"))]));
        assert!(!took(NOTHING, &[("a", Some("1")), ("b", Some("1"))]), "they agree in time too");
        assert!(!took(NOTHING, &[("a", None), ("a", None)]), "it is one mirror, over two interfaces");
        assert!(!took(HASH, &[("a", None), ("b", None)]), "the hash will show it");
        let mut again = mirrors(NOTHING, &[facts(5, None)]);
        again.remember(vec![(url("a"), facts(5, None))]);
        assert!(!again.agree_in_size_alone());
        again.take(&url("b"), &facts(5, None));
        assert!(again.agree_in_size_alone(), "chunks of the first are on the disk");
    }

    #[test]
    fn with_size_and_hash_the_first_good_mirror_suffices() {
        let known = Known { size: Some(5), has_hash: true };
        let mut mirrors = Mirrors::new(known, vec![true; 3]);
        mirrors.on_found(0, url("a"), facts(6, None));
        assert_eq!(mirrors.decide(false), Ok(false));
        mirrors.on_found(1, url("b"), facts(5, None));
        assert_eq!(mirrors.decide(false), Ok(true));
    }

    #[test]
    fn one_mirror_sends_all_where_none_sends_parts() {
        let whole = Facts { takes_ranges: false, ..facts(5, None) };
        let mut alone = mirrors(NOTHING, std::slice::from_ref(&whole));
        assert_eq!(alone.decide(false), Ok(true));
        assert!(!alone.decided().unwrap().is_in_parts && alone.check(&url("a"), &whole, false).is_ok());
        let mut both = mirrors(NOTHING, &[whole.clone(), facts(5, None)]);
        assert_eq!(both.decide(false), Ok(true));
        assert_eq!(both.check(&url("a"), &whole, false).unwrap_err(), "it sends no parts of files, and others do");
        let nameless = Facts { size: None, ..whole };
        assert_eq!(mirrors(NOTHING, std::slice::from_ref(&nameless)).decide(true), Ok(false), "its size is not known");
    }

    #[test]
    fn a_file_that_has_changed_is_not_mixed_with_what_is_there() {
        let mut again = mirrors(NOTHING, &[facts(5, Some("2"))]);
        assert_eq!(again.decide(false), Ok(true));
        again.remember(vec![(url("0"), facts(5, Some("1")))]);
        assert!(again.check(&url("0"), &facts(5, Some("2")), false).unwrap_err().contains("has changed there"));
        assert!(again.check(&url("0"), &facts(5, Some("2")), true).is_ok(), "chunks are verified");
        assert!(again.check(&url("9"), &facts(5, Some("2")), false).unwrap_err().contains("nothing shows"));
        again.remember(vec![(url("0"), facts(5, Some("2")))]);
        assert!(again.check(&url("9"), &facts(5, Some("2")), false).is_ok(), "it is of the same time");
    }
}
