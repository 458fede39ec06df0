//! The decision which file a fetch is for: the file whose hash was given, or the one that all reachable sharers have.
//!
//! Without a given hash, nothing shows which of several sharers is right. So no sharer is believed before all have
//! reported their hash, cannot be reached, or have taken too long. A sharer that has a different file, then or later,
//! is an error.

use anabranch_transfer::Root;

/// The reports of all sources on the hash of the file, and the hash that is believed.
#[derive(Debug)]
pub struct Agreement {
    /// Hash of the file, as far as it is known.
    believed: Option<Root>,
    /// Whether the hash was given, so that a sharer with another file is wrong.
    is_given: bool,
    /// Hash that each source reported; after the decision, its first report.
    said: Vec<Option<Root>>,
    /// Whether each source can be reached, as far as is known.
    is_reached: Vec<bool>,
}

impl Agreement {
    /// Creates the state before any report, with the given hash if there is one.
    pub fn new(given: Option<Root>, sources: usize) -> Self {
        Self { believed: given, is_given: given.is_some(), said: vec![None; sources], is_reached: vec![true; sources] }
    }

    /// Records whether a source can be reached.
    pub fn reach(&mut self, source: usize, is_reached: bool) {
        self.is_reached[source] = is_reached;
    }

    /// Whether a source is connected or being connected.
    pub fn is_reached(&self, source: usize) -> bool {
        self.is_reached[source]
    }

    /// Records the hash that a source reports.
    ///
    /// # Errors
    /// If sources disagree and no hash was given: what each has reported.
    pub fn on_found(&mut self, source: usize, root: Root) -> Result<(), Vec<(usize, Root)>> {
        let Some(believed) = self.believed else {
            self.said[source] = Some(root);
            return Ok(());
        };
        // A source that reports a different hash than before has a changed file; it is left out.
        let said = *self.said[source].get_or_insert(root);
        if self.is_given || said == believed { Ok(()) } else { Err(self.all()) }
    }

    /// Decides on the file if possible, at the latest when `is_up` is true; returns its hash if that is decided now.
    ///
    /// # Errors
    /// If sources have reported different hashes: what each has reported.
    pub fn decide(&mut self, is_up: bool) -> Result<Option<Root>, Vec<(usize, Root)>> {
        let is_awaited = |(said, is_reached): (&Option<Root>, &bool)| said.is_none() && *is_reached;
        let is_open = !is_up && self.said.iter().zip(&self.is_reached).any(is_awaited);
        if self.believed.is_some() || is_open {
            return Ok(None);
        }
        let mut said = self.said.iter().flatten();
        let Some(first) = said.next() else { return Ok(None) };
        if said.any(|other| other != first) {
            return Err(self.all());
        }
        self.believed = Some(*first);
        Ok(self.believed)
    }

    /// The hashes that sources have reported.
    fn all(&self) -> Vec<(usize, Root)> {
        self.said.iter().enumerate().filter_map(|(source, root)| Some((source, (*root)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Root = Root([1; 32]);
    const OTHER: Root = Root([2; 32]);

    #[test]
    fn all_who_can_be_reached_are_heard_before_one_is_believed() {
        let mut agreement = Agreement::new(None, 3);
        agreement.on_found(2, ONE).unwrap();
        assert_eq!(agreement.decide(false), Ok(None));
        agreement.reach(0, false);
        assert_eq!(agreement.decide(false), Ok(None), "the second is still being reached");
        agreement.on_found(1, ONE).unwrap();
        assert_eq!(agreement.decide(false), Ok(Some(ONE)));
        assert_eq!(agreement.decide(false), Ok(None), "it is decided once");
    }

    #[test]
    fn sharers_that_disagree_are_an_error() {
        let mut agreement = Agreement::new(None, 2);
        agreement.on_found(1, OTHER).unwrap();
        agreement.on_found(0, ONE).unwrap();
        assert_eq!(agreement.decide(false), Err(vec![(0, ONE), (1, OTHER)]));
    }

    #[test]
    fn one_that_comes_when_another_is_believed_and_disagrees_is_an_error() {
        let mut agreement = Agreement::new(None, 2);
        agreement.on_found(1, ONE).unwrap();
        assert_eq!(agreement.decide(false), Ok(None));
        assert_eq!(agreement.decide(true), Ok(Some(ONE)), "the first takes too long");
        assert_eq!(agreement.on_found(0, OTHER), Err(vec![(0, OTHER), (1, ONE)]));
    }

    #[test]
    fn where_the_hash_is_given_nobody_is_waited_for_and_others_are_no_error() {
        let mut agreement = Agreement::new(Some(ONE), 2);
        assert_eq!((agreement.on_found(0, OTHER), agreement.on_found(1, ONE)), (Ok(()), Ok(())));
        assert_eq!(agreement.decide(true), Ok(None));
    }

    #[test]
    fn a_sharer_whose_file_has_changed_since_is_no_error_for_the_others() {
        let mut agreement = Agreement::new(None, 2);
        agreement.on_found(0, ONE).unwrap();
        agreement.on_found(1, ONE).unwrap();
        assert_eq!(agreement.decide(false), Ok(Some(ONE)));
        assert_eq!(agreement.on_found(0, OTHER), Ok(()), "it said something else before");
    }

    #[test]
    fn nobody_is_believed_who_has_said_nothing() {
        let mut agreement = Agreement::new(None, 1);
        assert_eq!(agreement.decide(true), Ok(None));
        agreement.reach(0, false);
        assert_eq!(agreement.decide(true), Ok(None));
    }
}
