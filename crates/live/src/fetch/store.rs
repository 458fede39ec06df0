//! The unfinished file and its journal: the chunks that a fetcher has on disk, and its recovery after a crash.
//!
//! Beside the target file `x` are `x.part`, with the chunks at their offsets, and `x.part.journal`, the list of the
//! chunks that are there. A chunk is listed after it has reached the disk. So a crash, even of the machine, leaves no
//! chunk listed that is not there. The file gets its name when it is whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anabranch_transfer::journal::{self, JournalError};
use anabranch_transfer::{Chunks, FileHash, Root};
use nix::libc::O_NONBLOCK;
use thiserror::Error;

use super::place::{Place, at, is_same, open, what};
use super::proof::{Expected, is_right, known_hashes};
use super::validators;
use crate::web::{Facts, WebUrl};

/// The unfinished file and its journal.
#[derive(Debug)]
pub struct Store {
    place: Place,
    part: File,
    journal: File,
    expected: Expected,
    /// What mirrors said of the file in earlier fetches.
    mirrors: Vec<(WebUrl, Facts)>,
    /// Chunks that are written and perhaps not yet synced to the disk.
    written: Vec<u32>,
}

/// The reason why a file cannot be stored.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum StoreError {
    #[error("{path}: {error}", path = path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{path}: another fetch is writing it; wait for its end, or choose another name", path = .0.display())]
    Busy(PathBuf),
    #[error("{path}: {error}", path = path.display())]
    Journal { path: PathBuf, error: JournalError },
    #[error("{path} is the beginning of another file, or of this one from sources of another kind; remove it to begin \
             anew, or choose another name", path = .0.display())]
    Other(PathBuf),
    #[error("{path} is not the list of the mirrors of an unfinished file; remove it and the unfinished file to begin \
             anew", path = .0.display())]
    Mirrors(PathBuf),
    #[error("{path} is there already, and no hash says whether it is the same file; remove it, choose another name, or \
             give the hash of the file (`--hash`)", path = .0.display())]
    Unproven(PathBuf),
    #[error(
        "{path}: the file that came has hash {found}, not {wanted}, so what came was removed; a mirror has another file: \
         leave it out, or fetch it again",
        path = path.display()
    )]
    WrongHash { path: PathBuf, found: FileHash, wanted: FileHash },
    #[error("{path} is there already, and is another file; remove it, or choose another name", path = .0.display())]
    Exists(PathBuf),
    #[error("{path} is there without its journal, so it may be something else; remove it to begin anew, or choose \
             another name", path = .0.display())]
    Unlisted(PathBuf),
    #[error("{path} is {what}, which is not written to; remove it, or choose another name", path = path.display())]
    NotPlain { path: PathBuf, what: &'static str },
    #[error("{path} was replaced by something else meanwhile; fetch the file again", path = .0.display())]
    Replaced(PathBuf),
}

/// The content of a target path.
#[derive(Debug)]
pub enum Opened {
    /// The whole file, with its known hashes.
    Whole(Vec<FileHash>),
    /// The beginning of the file, perhaps empty, and its chunks, which were verified again.
    Part(Store, Vec<u32>),
}

/// Whether a path has the expected file, and its hashes if so; `None` if the path does not exist.
fn whole(path: &Path, expected: &Expected) -> Result<Option<Vec<FileHash>>, StoreError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(None) };
    let Ok(metadata) = fs::metadata(path) else {
        return Err(StoreError::NotPlain { path: path.into(), what: what(found.file_type()) });
    };
    if !metadata.is_file() || metadata.len() != expected.chunks.size() {
        return Err(StoreError::Exists(path.into()));
    }
    if !expected.is_proven() {
        return Err(StoreError::Unproven(path.into()));
    }
    let file = at(path, OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path))?;
    let hashes = at(path, known_hashes(&file, expected))?;
    let is_right = hashes.wrong(expected).is_none() && at(path, is_right(&file, expected))?;
    if is_right { Ok(Some(hashes.all)) } else { Err(StoreError::Exists(path.into())) }
}

impl Store {
    /// Opens the file whose target is `target`, or begins it.
    ///
    /// # Errors
    /// If something else has the path, another fetch writes the file, or the disk fails.
    pub fn open(target: &Path, expected: Expected) -> Result<Opened, StoreError> {
        let place = Place::of(target);
        if let Some(hashes) = whole(target, &expected)? {
            place.remove_other_name();
            return Ok(Opened::Whole(hashes));
        }
        let mut journal = locked(&place)?;
        let is_begun = at(&place.journal, journal.metadata())?.len() > 0;
        let part = match open_part(&place, is_begun) {
            Ok(part) => part,
            Err(error) => {
                // A journal that was created just now is removed.
                if !is_begun {
                    at(&place.journal, fs::remove_file(&place.journal))?;
                }
                return Err(error);
            }
        };
        let listed = listed(&mut journal, &place.journal, &expected.chunks)?;
        let mirrors = earlier_mirrors(&place)?;
        // The journal survives a crash of the machine from here on, before it lists any chunk.
        place.sync()?;
        at(&place.part, part.set_len(expected.chunks.size()))?;
        let store = Self { place, part, journal, expected, mirrors, written: Vec::new() };
        let there = store.verified(&listed);
        Ok(Opened::Part(store, there))
    }

    /// The listed chunks whose bytes are correct.
    fn verified(&self, listed: &[u32]) -> Vec<u32> {
        let chunks = &self.expected.chunks;
        let mut bytes = Vec::new();
        let is_there = |&chunk: &u32| {
            let Some((offset, length)) = chunks.extent(chunk) else { return false };
            bytes.resize(length, 0);
            self.part.read_exact_at(&mut bytes, offset).is_ok() && chunks.fit(chunk, &bytes)
        };
        let mut there: Vec<u32> = listed.iter().copied().filter(is_there).collect();
        there.sort_unstable();
        there.dedup();
        there
    }

    /// What mirrors said of the file in earlier fetches.
    pub fn mirrors(&self) -> &[(WebUrl, Facts)] {
        &self.mirrors
    }

    /// Lists what a mirror says of the file, before any chunk of it is listed.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn note(&mut self, url: &WebUrl, facts: &Facts) -> Result<(), StoreError> {
        let path = &self.place.mirrors;
        let mut file = open(path)?;
        let mut line = validators::line(url, facts);
        if at(path, file.metadata())?.len() < validators::HEAD.len() as u64 {
            at(path, file.set_len(0))?;
            line.insert_str(0, validators::HEAD);
        }
        at(path, file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(line.as_bytes())))?;
        at(path, file.sync_all())?;
        self.place.sync()
    }

    /// Writes a verified chunk; it is listed with the next [`Self::sync`].
    ///
    /// # Errors
    /// If the disk fails.
    pub fn write(&mut self, chunk: u32, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        at(&self.place.part, self.part.write_all_at(bytes, offset))?;
        self.written.push(chunk);
        Ok(())
    }

    /// Syncs written chunks to the disk, then lists them, and returns their numbers.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&mut self) -> Result<Vec<u32>, StoreError> {
        if self.written.is_empty() {
            return Ok(Vec::new());
        }
        at(&self.place.part, self.part.sync_data())?;
        let id = self.expected.chunks.id();
        let records: Vec<u8> = self.written.iter().flat_map(|&chunk| journal::record(id, chunk)).collect();
        at(&self.place.journal, self.journal.write_all(&records).and_then(|()| self.journal.sync_data()))?;
        Ok(std::mem::take(&mut self.written))
    }

    /// Checks the hash of the whole file, if chunks were not verified or another hash is wanted, and gives the file its
    /// name. Returns its known hashes.
    ///
    /// # Errors
    /// If the disk fails, the file has another hash, or something else has the name meanwhile.
    pub fn finish(mut self) -> Result<Vec<FileHash>, StoreError> {
        self.sync()?;
        let Self { place, part, expected, .. } = self;
        at(&place.part, part.sync_all())?;
        let hashes = at(&place.part, known_hashes(&part, &expected))?;
        if let Some((found, wanted)) = hashes.wrong(&expected) {
            for path in [&place.part, &place.journal] {
                at(path, fs::remove_file(path))?;
            }
            let _ = fs::remove_file(&place.mirrors);
            return Err(StoreError::WrongHash { path: place.target, found, wanted });
        }
        if !is_same(&at(&place.part, part.metadata())?, &place.part) {
            return Err(StoreError::Replaced(place.part));
        }
        // A link, unlike a renaming, does not replace an existing file.
        match fs::hard_link(&place.part, &place.target) {
            Ok(()) => at(&place.part, fs::remove_file(&place.part))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists(place.target));
            }
            Err(_) => at(&place.part, fs::rename(&place.part, &place.target))?,
        }
        at(&place.journal, fs::remove_file(&place.journal))?;
        // Files from sharers have no such list.
        let _ = fs::remove_file(&place.mirrors);
        place.sync()?;
        Ok(hashes.all)
    }
}

/// Opens the journal of a place, and locks it for one fetch at a time.
fn locked(place: &Place) -> Result<File, StoreError> {
    let path = &place.journal;
    let journal = open(path)?;
    match journal.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(path.clone())),
        Err(TryLockError::Error(error)) => return Err(StoreError::Io { path: path.clone(), error }),
    }
    // Another fetch may have ended and removed the journal between opening and locking.
    if is_same(&at(path, journal.metadata())?, path) { Ok(journal) } else { Err(StoreError::Busy(path.clone())) }
}

/// Opens the unfinished file of a place. A journal is begun before anything is written, so without one the file is
/// something else.
fn open_part(place: &Place, is_begun: bool) -> Result<File, StoreError> {
    let part = open(&place.part)?;
    let is_empty = at(&place.part, part.metadata())?.len() == 0;
    if is_begun || is_empty { Ok(part) } else { Err(StoreError::Unlisted(place.part.clone())) }
}

/// What mirrors said of the file in earlier fetches.
fn earlier_mirrors(place: &Place) -> Result<Vec<(WebUrl, Facts)>, StoreError> {
    let path = &place.mirrors;
    if fs::symlink_metadata(path).is_err() {
        return Ok(Vec::new());
    }
    let mut text = Vec::new();
    at(path, open(path)?.take(validators::MOST_BYTES).read_to_end(&mut text))?;
    validators::read(&text).ok_or_else(|| StoreError::Mirrors(path.clone()))
}

/// The chunks that a journal lists; an empty journal gets the header of this file.
fn listed(journal: &mut File, path: &Path, chunks: &Chunks) -> Result<Vec<u32>, StoreError> {
    let mut bytes = Vec::new();
    at(path, journal.read_to_end(&mut bytes))?;
    let (size, root) = (chunks.size(), chunks.id());
    // A crash while the header was written leaves a part of it, with nothing after it.
    if bytes.len() < journal::HEADER && journal::header(size, root).starts_with(&bytes) {
        at(path, restart(journal, 0).and_then(|()| journal.write_all(&journal::header(size, root))))?;
        at(path, journal.sync_all())?;
        return Ok(Vec::new());
    }
    let read = journal::read(&bytes).map_err(|error| StoreError::Journal { path: path.into(), error })?;
    if (read.size, read.root) == (size, root) {
        at(path, restart(journal, read.good as u64))?;
        return Ok(read.chunks);
    }
    if read.size != size || !is_from_mirrors(read.root, chunks) {
        return Err(StoreError::Other(path.into()));
    }
    let records = read.chunks.iter().flat_map(|&chunk| journal::record(root, chunk));
    let anew: Vec<u8> = journal::header(size, root).into_iter().chain(records).collect();
    at(path, restart(journal, 0).and_then(|()| journal.write_all(&anew)).and_then(|()| journal.sync_all()))?;
    Ok(read.chunks)
}

/// Whether a journal is of chunks from mirrors that were not verified then and can be verified now.
fn is_from_mirrors(id: Root, chunks: &Chunks) -> bool {
    let unverified = Chunks::unverified(chunks.size());
    chunks.is_verified()
        && unverified.is_ok_and(|other| (other.id(), other.chunk_bytes()) == (id, chunks.chunk_bytes()))
}

/// Truncates a journal, to be continued from there.
fn restart(journal: &mut File, length: u64) -> io::Result<()> {
    journal.set_len(length)?;
    journal.seek(SeekFrom::Start(length)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anabranch_transfer::Digests;

    use super::*;

    const CHUNK: usize = 256 << 10;

    fn beside(target: &Path, end: &str) -> PathBuf {
        target.with_file_name(format!("{}{end}", target.file_name().unwrap().to_str().unwrap()))
    }

    fn content() -> Vec<u8> {
        (0..3 * CHUNK + 10).map(|at| (at ^ (at >> 8) ^ (at >> 16).wrapping_mul(77)) as u8).collect()
    }

    fn digests() -> Digests {
        let content = content();
        Digests::of(content.len() as u64, &content[..]).unwrap()
    }

    fn tree() -> Expected {
        Expected::from(digests())
    }

    fn part(target: &Path) -> (Store, Vec<u32>) {
        match Store::open(target, tree()).unwrap() {
            Opened::Part(store, there) => (store, there),
            Opened::Whole(_) => panic!("it is not whole"),
        }
    }

    fn write(store: &mut Store, chunk: u32) {
        let (offset, length) = digests().extent(chunk).unwrap();
        store.write(chunk, offset, &content()[offset as usize..][..length]).unwrap();
    }

    #[test]
    fn a_file_takes_its_name_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, there) = part(&target);
        assert!(there.is_empty());
        for chunk in [2, 0, 3, 1] {
            write(&mut store, chunk);
        }
        assert!(!target.exists());
        store.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), content());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
        assert!(matches!(Store::open(&target, tree()).unwrap(), Opened::Whole(_)));
    }

    #[test]
    fn what_was_synced_is_there_after_a_crash_and_what_was_not_is_fetched_again() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, _) = part(&target);
        write(&mut store, 2);
        write(&mut store, 0);
        assert_eq!(store.sync().unwrap(), [2, 0]);
        write(&mut store, 1);
        drop(store);
        let (mut store, there) = part(&target);
        assert_eq!(there, [0, 2]);
        write(&mut store, 3);
        store.sync().unwrap();
        drop(store);
        assert_eq!(part(&target).1, [0, 2, 3]);
    }

    #[test]
    fn a_chunk_that_has_changed_on_the_disk_is_fetched_again() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, _) = part(&target);
        write(&mut store, 2);
        write(&mut store, 0);
        store.sync().unwrap();
        drop(store);
        let damaged = OpenOptions::new().write(true).open(beside(&target, ".part")).unwrap();
        damaged.write_all_at(b"x", 2 * CHUNK as u64 + 5).unwrap();
        assert_eq!(part(&target).1, [0]);
    }

    #[test]
    fn a_journal_cut_anywhere_loses_no_more_than_its_last_record() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, _) = part(&target);
        write(&mut store, 2);
        write(&mut store, 0);
        store.sync().unwrap();
        drop(store);
        let journal = OpenOptions::new().write(true).open(beside(&target, ".part.journal")).unwrap();
        for (length, expected) in [(79, vec![2]), (70, vec![]), (64, vec![]), (10, vec![])] {
            journal.set_len(length).unwrap();
            assert_eq!(part(&target).1, expected, "{length} bytes");
        }
    }

    #[test]
    fn something_else_in_its_place_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        fs::write(&target, b"mine").unwrap();
        assert!(matches!(Store::open(&target, tree()), Err(StoreError::Exists(_))));
        fs::remove_file(&target).unwrap();
        drop(part(&target));
        let other = Digests::of(3, &b"abc"[..]).unwrap();
        assert!(matches!(Store::open(&target, Expected::from(other)), Err(StoreError::Other(_))));
        fs::write(beside(&target, ".part.journal"), [7; 100]).unwrap();
        assert!(matches!(Store::open(&target, tree()), Err(StoreError::Journal { .. })));
        fs::write(&target, b"mine").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"mine");
    }

    #[test]
    fn something_else_by_the_name_of_the_unfinished_file_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        fs::write(beside(&target, ".part"), b"mine").unwrap();
        for _ in 0..2 {
            assert!(matches!(Store::open(&target, tree()), Err(StoreError::Unlisted(_))));
        }
        assert_eq!(fs::read(beside(&target, ".part")).unwrap(), b"mine");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn what_takes_the_name_meanwhile_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, _) = part(&target);
        (0..4).for_each(|chunk| write(&mut store, chunk));
        fs::write(&target, b"mine").unwrap();
        assert!(matches!(store.finish(), Err(StoreError::Exists(_))));
        assert_eq!(fs::read(&target).unwrap(), b"mine");
    }

    #[test]
    fn a_crash_before_the_other_name_was_removed_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, _) = part(&target);
        (0..4).for_each(|chunk| write(&mut store, chunk));
        store.sync().unwrap();
        drop(store);
        fs::hard_link(beside(&target, ".part"), &target).unwrap();
        assert!(matches!(Store::open(&target, tree()).unwrap(), Opened::Whole(_)));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_fetches_do_not_write_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let _store = part(&target);
        assert!(matches!(Store::open(&target, tree()), Err(StoreError::Busy(_))));
    }

    #[test]
    fn chunks_from_mirrors_are_verified_by_the_tree_of_a_sharer_that_joins_later() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let chunks = Arc::new(Chunks::unverified(digests().size()).unwrap());
        let Opened::Part(mut store, _) = Store::open(&target, Expected { chunks, hashes: Vec::new() }).unwrap() else {
            panic!("it is not whole")
        };
        write(&mut store, 2);
        store.write(1, CHUNK as u64, &vec![7; CHUNK]).unwrap();
        store.sync().unwrap();
        drop(store);
        let (mut store, there) = part(&target);
        assert_eq!(there, [2], "the other is wrong");
        write(&mut store, 0);
        store.sync().unwrap();
        drop(store);
        assert_eq!(part(&target).1, [0, 2]);
    }

    #[test]
    fn an_empty_file_is_whole_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let empty = Digests::of(0, io::empty()).unwrap();
        let Opened::Part(store, there) = Store::open(&target, Expected::from(empty)).unwrap() else {
            panic!("it is not there yet")
        };
        assert!(there.is_empty());
        store.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"");
    }

    #[test]
    fn no_link_leads_out_of_the_folder() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("precious");
        fs::write(&victim, b"").unwrap();
        for end in [".part", ".part.journal"] {
            // To nothing, to an empty file, to a folder, and to nothing by way of another link.
            let nothing = outside.path().join("new");
            symlink(&nothing, outside.path().join("link")).ok();
            for aim in [&nothing, &victim, outside.path(), &outside.path().join("link")] {
                let folder = tempfile::tempdir().unwrap();
                let target = folder.path().join("x");
                symlink(aim, beside(&target, end)).unwrap();
                let error = Store::open(&target, tree()).unwrap_err().to_string();
                assert!(error.contains("is a symbolic link, which is not written to"), "{error}");
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
            }
            // Another name of a file, a folder and a pipe.
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("x");
            fs::hard_link(&victim, beside(&target, end)).unwrap();
            assert!(matches!(Store::open(&target, tree()), Err(StoreError::NotPlain { .. })));
            fs::remove_file(beside(&target, end)).unwrap();
            fs::create_dir(beside(&target, end)).unwrap();
            assert!(matches!(Store::open(&target, tree()), Err(StoreError::NotPlain { what: "a folder", .. })));
            fs::remove_dir(beside(&target, end)).unwrap();
            nix::unistd::mkfifo(&beside(&target, end), nix::sys::stat::Mode::S_IRWXU).unwrap();
            assert!(matches!(Store::open(&target, tree()), Err(StoreError::NotPlain { what: "a pipe", .. })));
        }
        assert_eq!(fs::metadata(&victim).unwrap().len(), 0);
        assert!(!outside.path().join("new").exists());
    }

    #[test]
    fn a_link_that_leads_nowhere_in_the_place_of_the_file_is_refused_before_anything_is_fetched() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        std::os::unix::fs::symlink("nowhere", &target).unwrap();
        assert!(matches!(Store::open(&target, tree()), Err(StoreError::NotPlain { what: "a symbolic link", .. })));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
        // A pipe is not waited for.
        fs::remove_file(&target).unwrap();
        nix::unistd::mkfifo(&target, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(matches!(Store::open(&target, tree()), Err(StoreError::Exists(_))));
    }

    #[test]
    fn a_link_to_the_unfinished_file_does_not_make_it_whole() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, _) = part(&target);
        (0..4).for_each(|chunk| write(&mut store, chunk));
        store.sync().unwrap();
        drop(store);
        std::os::unix::fs::symlink("x.part", &target).unwrap();
        assert!(matches!(Store::open(&target, tree()).unwrap(), Opened::Whole(_)));
        assert_eq!(fs::read(&target).unwrap(), content(), "what the link leads to is still there");
    }

    #[test]
    fn what_takes_the_place_of_the_unfinished_file_is_not_given_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let (mut store, _) = part(&target);
        (0..4).for_each(|chunk| write(&mut store, chunk));
        fs::remove_file(beside(&target, ".part")).unwrap();
        fs::write(beside(&target, ".part"), b"another").unwrap();
        assert!(matches!(store.finish(), Err(StoreError::Replaced(_))));
        assert!(!target.exists());
    }

    #[test]
    fn a_file_whose_name_is_as_long_as_names_may_be_is_stored() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("n".repeat(255));
        let (mut store, _) = part(&target);
        write(&mut store, 2);
        store.sync().unwrap();
        drop(store);
        let (mut store, there) = part(&target);
        assert_eq!(there, [2], "it goes on from there");
        for chunk in [0, 1, 3] {
            write(&mut store, chunk);
        }
        store.finish().unwrap();
        assert_eq!(fs::read(&target).unwrap(), content());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing else is left");
    }
}
