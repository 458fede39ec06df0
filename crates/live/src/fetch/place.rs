//! The paths of an unfinished file and its journal: beside the target, and opened so that no link leads elsewhere.
//!
//! Other users may be able to write to the folder. So no file is opened for writing through a symbolic link, and no
//! file with another name is written: fetched data can end up only in this folder.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anabranch_transfer::Digests;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::store::StoreError;

/// The longest name that file systems support, in bytes.
const MOST_NAME: usize = 255;

/// Suffixes of the unfinished file, of its journal, and of the list of its mirrors, of which none is longer than the
/// second.
const ENDS: (&str, &str, &str) = (".part", ".part.journal", ".part.mirrors");

/// Hexadecimal digits of the hash that replace the end of a name that is too long for a suffix.
const DIGITS: usize = 16;

/// The paths of a target file.
#[derive(Clone, Debug)]
pub struct Place {
    /// Path of the file, once it is whole.
    pub target: PathBuf,
    /// Path of its chunks until then.
    pub part: PathBuf,
    /// Path of the list of the chunks that are on the disk.
    pub journal: PathBuf,
    /// Path of the list of what mirrors said of the file.
    pub mirrors: PathBuf,
}

impl Place {
    /// The paths of a file whose target is `target`.
    pub fn of(target: &Path) -> Self {
        let base = base(target.file_name().unwrap_or_default());
        let beside = |end: &str| {
            let mut name = base.clone();
            name.push(end);
            target.with_file_name(name)
        };
        Self { target: target.into(), part: beside(ENDS.0), journal: beside(ENDS.1), mirrors: beside(ENDS.2) }
    }

    /// Makes new names in the folder survive a crash.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn sync(&self) -> Result<(), StoreError> {
        let folder = self.target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        at(folder, File::open(folder).and_then(|folder| folder.sync_all()))
    }

    /// Removes the second name of a whole file, and its journal, which a crash may have left.
    pub fn remove_other_name(&self) {
        if fs::symlink_metadata(&self.target).is_ok_and(|file| is_same(&file, &self.part)) {
            let _ = fs::remove_file(&self.part).and_then(|()| fs::remove_file(&self.journal));
            let _ = fs::remove_file(&self.mirrors);
        }
    }
}

/// Base for the suffixes: the name of the file or, where that is too long, its beginning with a hash of all of it.
fn base(name: &OsStr) -> OsString {
    if name.len() + ENDS.1.len() <= MOST_NAME {
        return name.to_owned();
    }
    let bytes = name.as_encoded_bytes();
    let hash = Digests::of(bytes.len() as u64, bytes).expect("bytes in memory can be read").root().to_string();
    let text = name.to_string_lossy();
    let room = MOST_NAME - ENDS.1.len() - DIGITS - 1;
    format!("{}-{}", &text[..text.floor_char_boundary(room)], &hash[..DIGITS]).into()
}

/// Adds the path to a system error.
pub fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, StoreError> {
    result.map_err(|error| StoreError::Io { path: path.into(), error })
}

/// Whether a path is itself a name of this file, not a link to it.
pub fn is_same(file: &Metadata, path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
}

/// Describes a kind of file other than a regular one.
pub fn what(kind: FileType) -> &'static str {
    match () {
        () if kind.is_symlink() => "a symbolic link",
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

/// Opens a file for reading and writing, and creates it if it does not exist. The file has no other name.
///
/// # Errors
/// If the path is not a regular file, the file has other names, or the system refuses.
pub fn open(path: &Path) -> Result<File, StoreError> {
    let refused = |what| StoreError::NotPlain { path: path.into(), what };
    // Opening a device might have effects, so its kind is read first.
    let found = |path| fs::symlink_metadata(path).ok().map(|found| found.file_type());
    if let Some(kind) = found(path).filter(|kind| !kind.is_file()) {
        return Err(refused(what(kind)));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(O_NOFOLLOW | O_NONBLOCK);
    let file = at(path, options.open(path))?;
    let metadata = at(path, file.metadata())?;
    if !metadata.is_file() {
        return Err(refused(what(metadata.file_type())));
    }
    if metadata.nlink() > 1 { Err(refused("a file that has other names too")) } else { Ok(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_leaves_room_for_what_is_appended() {
        let place = |name: &str| Place::of(&Path::new("folder").join(name));
        let names = |place: &Place| [&place.part, &place.journal].map(|path| path.file_name().unwrap().to_owned());
        // 242 bytes and the 13 of `.part.journal` are 255.
        let fits = "a".repeat(242);
        assert_eq!(names(&place(&fits)), [format!("{fits}.part"), format!("{fits}.part.journal")].map(OsString::from));
        // The last character of two bytes before the hash is not cut in halves.
        for long in ["a".repeat(243), "a".repeat(255), "é".repeat(127)] {
            let [part, journal] = names(&place(&long));
            assert!(journal.len() <= MOST_NAME && journal.to_string_lossy().starts_with(&long[..200]), "{journal:?}");
            assert_eq!(journal.to_str(), Some(format!("{}.journal", part.to_str().unwrap()).as_str()));
            assert_eq!(place(&long).part.parent(), Some(Path::new("folder")));
        }
        // Names that differ at their ends alone have different places.
        let ends = ["x", "y"].map(|end| place(&format!("{}{end}", "a".repeat(250))).part);
        assert_ne!(ends[0], ends[1]);
    }
}
