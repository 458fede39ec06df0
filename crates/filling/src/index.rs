//! The connections on each link.

use crate::{FillingError, SinglePath};

/// Connections listed by link.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The offsets of the links' connections: link l has `listed[starts[l]..starts[l + 1]]`, in their order, one for
    /// each entry.
    starts: Vec<u32>,
    listed: Vec<u32>,
}

impl Index {
    /// Builds the list of all entries.
    pub fn build(&mut self, shared: &SinglePath<'_>) -> Result<(), FillingError> {
        let links = shared.capacity.len();
        self.starts.clear();
        self.starts.resize(links + 2, 0);
        // Counted two places on, so that a start moves to the beginning of the next while its list is written.
        for &link in shared.links {
            match self.starts[2..].get_mut(link as usize) {
                Some(count) => *count += 1,
                None => return Err(unknown(shared, link)),
            }
        }
        for l in 2..links + 2 {
            self.starts[l] += self.starts[l - 1];
        }
        self.listed.resize(shared.links.len(), 0);
        for (connection, ends) in shared.offsets.windows(2).enumerate() {
            for &link in &shared.links[ends[0]..ends[1]] {
                let next = &mut self.starts[link as usize + 1];
                self.listed[*next as usize] = connection as u32;
                *next += 1;
            }
        }
        Ok(())
    }

    /// The connections over `link`.
    pub fn on(&self, link: usize) -> &[u32] {
        &self.listed[self.starts[link] as usize..self.starts[link + 1] as usize]
    }
}

#[cold]
fn unknown(shared: &SinglePath<'_>, link: u32) -> FillingError {
    let entry = shared.links.iter().position(|&l| l == link).expect("it was found there");
    let connection = shared.offsets.partition_point(|&offset| offset <= entry) - 1;
    FillingError::UnknownLink { connection, link, links: shared.capacity.len() }
}
