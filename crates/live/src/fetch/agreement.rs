//! Which file it is: the one whose hash was given, or the one that all sharers have that can be reached.
//!
//! Without a hash nothing says which of several sharers is right. So none is believed before all have said what they have, or
//! cannot be reached, or have taken too long; and one that has something else, then or later, is an error.

use anabranch_transfer::Root;

/// What is known of which file it is.
#[derive(Debug)]
pub struct Agreement {
    /// The hash that the file has to have, as far as it is known.
    believed: Option<Root>,
    /// Whether that was given, so that a sharer with another file is wrong.
    is_given: bool,
    /// For each source the hash of its file; once one is believed, as it said first.
    said: Vec<Option<Root>>,
    /// For each source whether it can be reached, as far as is known.
    is_reached: Vec<bool>,
}

impl Agreement {
    /// Nothing is known but the hash that was given, if one was.
    pub fn new(given: Option<Root>, sources: usize) -> Self {
        Self { believed: given, is_given: given.is_some(), said: vec![None; sources], is_reached: vec![true; sources] }
    }

    /// Whether a source can be reached, as far as is known now.
    pub fn reach(&mut self, source: usize, is_reached: bool) {
        self.is_reached[source] = is_reached;
    }

    /// Whether a source is being reached, or is reached.
    pub fn is_reached(&self, source: usize) -> bool {
        self.is_reached[source]
    }

    /// A source says what it has.
    ///
    /// # Errors
    /// If others have said something else, and nothing says which is right: what each has said.
    pub fn on_found(&mut self, source: usize, root: Root) -> Result<(), Vec<(usize, Root)>> {
        let Some(believed) = self.believed else {
            self.said[source] = Some(root);
            return Ok(());
        };
        // The file of one that says something else than it did has changed; it is left out.
        let said = *self.said[source].get_or_insert(root);
        if self.is_given || said == believed { Ok(()) } else { Err(self.all()) }
    }

    /// The file that is to be believed from now on, if that is decided now; at the latest when time `is_up`.
    ///
    /// # Errors
    /// If sources have said different things: what each has said.
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

    /// What each source has said.
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
