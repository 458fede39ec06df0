//! Shared files: those of a directory, opened so that no name and no link leads out of it, or a single file; with their
//! digests.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_transfer::listing::Entry;
use anabranch_transfer::{Digests, Name, NameError, Refusal};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use thiserror::Error;

use super::list::list;

/// The most bytes of digests that are kept for later fetchers.
const MOST_KEPT: usize = 64 << 20;

/// A shared directory, read-only, or one shared file.
pub struct Files {
    directory: Dir,
    /// Name of the single shared file, and its place below; `None` if a directory is shared.
    only: Option<(Name, PathBuf)>,
    known: Mutex<HashMap<Name, Known>>,
}

/// Properties of a file that show whether it has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    /// Device and number of the file.
    file: (u64, u64),
    /// Times of the last change of content and of status, in seconds and nanoseconds each.
    times: [i64; 4],
}

/// What is known of a file.
struct Known {
    stamp: Stamp,
    digests: Arc<Digests>,
}

/// An open shared file.
#[derive(Debug)]
pub struct SharedFile {
    file: File,
    stamp: Stamp,
    digests: Arc<Digests>,
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(Stamp {
        size: metadata.len(),
        file: (metadata.dev(), metadata.ino()),
        times: [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()],
    })
}

/// The reason why a file cannot be shared.
#[derive(Debug, Error)]
pub enum FilesError {
    /// The system does not permit reading.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// The name of the file cannot be requested.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The file changes while it is read.
    #[error("it changes while it is read; share it when it is complete, or share its folder")]
    Changing,
}

impl Files {
    /// Shares a directory, or a single file.
    ///
    /// # Errors
    /// If it cannot be read, or its name cannot be requested.
    pub fn open(path: &Path) -> Result<Self, FilesError> {
        // A link to a file is shared under its own name.
        let real = path.canonicalize()?;
        let (directory, only) = match (path.file_name(), real.parent(), real.file_name()) {
            (Some(name), Some(above), Some(file)) if real.is_file() => {
                (above, Some((name.to_string_lossy().parse()?, PathBuf::from(file))))
            }
            _ => (real.as_path(), None),
        };
        let directory = Dir::open_ambient_dir(directory, ambient_authority())?;
        let files = Self { directory, only, known: Mutex::default() };
        if let Some((_, place)) = &files.only {
            files.open_regular(place)?;
        }
        Ok(files)
    }

    /// The name of the single shared file; `None` if a directory is shared.
    pub fn only(&self) -> Option<&Name> {
        self.only.as_ref().map(|(name, _)| name)
    }

    /// Finds a file by its name, with its digests; reads it completely if they are not known.
    ///
    /// # Errors
    /// If there is no such file, it may not be read, or it changes meanwhile. The fetcher does not learn which.
    pub fn find(&self, name: &Name) -> Result<SharedFile, Refusal> {
        let (file, stamp) = self.regular(name)?;
        if let Some(digests) = self.known(name, stamp) {
            return Ok(SharedFile { file, stamp, digests });
        }
        // Digests are computed chunk by chunk; a chunk is large enough for a read.
        let digests = Digests::of(stamp.size, &file).map_err(|_| Refusal::Changed)?;
        let found = SharedFile { file, stamp, digests: Arc::new(digests) };
        found.check()?;
        self.keep(name, &found);
        Ok(found)
    }

    /// Finds a file by its name, if its digests are known.
    ///
    /// # Errors
    /// If there is no such file, or it may not be read.
    pub fn find_known(&self, name: &Name) -> Result<Option<SharedFile>, Refusal> {
        let (file, stamp) = self.regular(name)?;
        Ok(self.known(name, stamp).map(|digests| SharedFile { file, stamp, digests }))
    }

    /// The names and sizes of all files.
    ///
    /// # Errors
    /// If they cannot be read, or there are too many.
    pub fn list(&self) -> Result<Vec<Entry>, Refusal> {
        let Some((name, place)) = &self.only else {
            return list(&self.directory).map_err(|_| Refusal::NotNow)?.ok_or(Refusal::TooManyFiles);
        };
        let (_, stamp) = self.open_regular(place).map_err(|_| Refusal::NoSuchFile)?;
        Ok(vec![Entry { name: name.clone(), size: stamp.size }])
    }

    /// Opens the regular file of a name.
    fn regular(&self, name: &Name) -> Result<(File, Stamp), Refusal> {
        let place = match &self.only {
            Some((only, place)) if only == name => place,
            Some(_) => return Err(Refusal::NoSuchFile),
            None => Path::new(name.as_str()),
        };
        // Problems of this machine may end later; all others mean that there is no such file.
        self.open_regular(place).map_err(|error| match error.raw_os_error() {
            Some(nix::libc::EMFILE | nix::libc::ENFILE | nix::libc::EIO | nix::libc::ENOMEM) => Refusal::NotNow,
            _ => Refusal::NoSuchFile,
        })
    }

    /// Opens a regular file below the directory. If a directory is shared, links within it are followed.
    fn open_regular(&self, place: &Path) -> io::Result<(File, Stamp)> {
        let metadata = match self.only {
            Some(_) => self.directory.symlink_metadata(place)?,
            None => self.directory.metadata(place)?,
        };
        // Opening anything else might block for ever, or have effects.
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        // A single file may have become a link since its kind was read.
        let no_link = if self.only.is_some() { nix::libc::O_NOFOLLOW } else { 0 };
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(nix::libc::O_NONBLOCK | no_link);
        let file = self.directory.open_with(place, &options)?.into_std();
        let stamp = stamp(&file)?;
        Ok((file, stamp))
    }

    fn known(&self, name: &Name, stamp: Stamp) -> Option<Arc<Digests>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).filter(|known| known.stamp == stamp).map(|known| Arc::clone(&known.digests))
    }

    fn keep(&self, name: &Name, file: &SharedFile) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: usize = known.values().map(|known| known.digests.list().len()).sum();
        if bytes + file.digests.list().len() > MOST_KEPT {
            known.clear();
        }
        known.insert(name.clone(), Known { stamp: file.stamp, digests: Arc::clone(&file.digests) });
    }
}

impl SharedFile {
    /// The digests of the file.
    pub fn digests(&self) -> &Arc<Digests> {
        &self.digests
    }

    /// Fills `bytes` with the content from `offset` on.
    ///
    /// # Errors
    /// If the file has changed.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.file.read_exact_at(bytes, offset).map_err(|_| Refusal::Changed)
    }

    /// Checks that the file has not changed.
    ///
    /// # Errors
    /// If it has changed.
    pub fn check(&self) -> Result<(), Refusal> {
        match stamp(&self.file) {
            Ok(stamp) if stamp == self.stamp => Ok(()),
            _ => Err(Refusal::Changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    #[test]
    fn a_file_below_is_found_with_its_hash() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("maps")).unwrap();
        fs::write(directory.path().join("maps/rhine"), b"abc").unwrap();
        symlink("maps/rhine", directory.path().join("river")).unwrap();
        let files = Files::open(directory.path()).unwrap();
        for found in ["maps/rhine", "river"] {
            let file = files.find(&name(found)).unwrap();
            let mut bytes = [0; 2];
            file.read(1, &mut bytes).unwrap();
            assert_eq!((bytes, file.digests().size()), (*b"bc", 3));
        }
    }

    #[test]
    fn nothing_outside_and_nothing_but_files_is_found() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), b"abc").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        symlink(outside.path().join("secret"), path.join("absolute")).unwrap();
        let up = Path::new("..").join(outside.path().file_name().unwrap());
        symlink(up.join("secret"), path.join("relative")).unwrap();
        symlink(&up, path.join("directory")).unwrap();
        fs::create_dir(path.join("empty")).unwrap();
        nix::unistd::mkfifo(&path.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let files = Files::open(path).unwrap();
        for hidden in ["absolute", "relative", "directory/secret", "directory", "empty", "pipe", "none"] {
            assert_eq!(files.find(&name(hidden)).unwrap_err(), Refusal::NoSuchFile, "{hidden}");
        }
    }

    #[test]
    fn a_file_that_is_shared_alone_is_all_there_is() {
        let directory = tempfile::tempdir().unwrap();
        for file in ["one", "other"] {
            fs::write(directory.path().join(file), b"abc").unwrap();
        }
        symlink(directory.path().join("one"), directory.path().join("link")).unwrap();
        for file in ["one", "link"] {
            let files = Files::open(&directory.path().join(file)).unwrap();
            assert_eq!(files.only(), Some(&name(file)));
            assert_eq!(files.find(&name(file)).unwrap().digests().size(), 3);
            assert_eq!(files.find(&name("other")).unwrap_err(), Refusal::NoSuchFile);
        }
        assert!(matches!(Files::open(&directory.path().join("none")), Err(FilesError::Unreadable(_))));
        fs::write(directory.path().join("a:b"), b"abc").unwrap();
        assert!(matches!(Files::open(&directory.path().join("a:b")), Err(FilesError::Name(_))));
    }

    #[test]
    fn a_link_in_the_place_of_a_file_that_was_shared_alone_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        for file in ["one", "other"] {
            fs::write(directory.path().join(file), b"abc").unwrap();
        }
        let files = Files::open(&directory.path().join("one")).unwrap();
        fs::remove_file(directory.path().join("one")).unwrap();
        symlink("other", directory.path().join("one")).unwrap();
        assert_eq!(files.find(&name("one")).unwrap_err(), Refusal::NoSuchFile);
    }

    #[test]
    fn a_file_that_changes_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, b"abc").unwrap();
        let files = Files::open(directory.path()).unwrap();
        let file = files.find(&name("file")).unwrap();
        fs::write(&path, b"abcd").unwrap();
        assert_eq!(file.check(), Err(Refusal::Changed));
        assert_eq!(files.find(&name("file")).unwrap().digests().size(), 4, "and hashed anew");
    }
}
