//! The list of the files of a shared directory, with their sizes.

use std::io;
use std::path::{Path, PathBuf};

use anabranch_transfer::listing::{Entry, MOST_FILES};
use anabranch_transfer::name::MOST_PARTS;
use cap_std::fs::Dir;

/// All files below a directory that can be fetched, by their names; `None` if there are too many.
///
/// Directories behind links are left out, so that the search ends, and so are files whose names cannot be requested.
///
/// # Errors
/// If the directory itself cannot be read.
pub fn list(directory: &Dir) -> io::Result<Option<Vec<Entry>>> {
    let mut entries = Vec::new();
    let mut open = vec![(PathBuf::new(), directory.try_clone()?)];
    while let Some((place, folder)) = open.pop() {
        // A directory that vanishes meanwhile, or may not be read, has nothing to fetch.
        let Ok(within) = folder.entries() else { continue };
        for entry in within.filter_map(Result::ok) {
            let path = place.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && path.components().count() < MOST_PARTS => {
                    open.extend(entry.open_dir().map(|below| (path, below)));
                }
                _ => entries.extend(of_file(directory, &path)),
            }
            if entries.len() > MOST_FILES || open.len() > MOST_FILES {
                return Ok(None);
            }
        }
    }
    entries.sort();
    Ok(Some(entries))
}

/// The entry of a regular file, also behind a link that stays within the directory.
fn of_file(directory: &Dir, path: &Path) -> Option<Entry> {
    let name = path.to_str()?.parse().ok()?;
    let metadata = directory.metadata(path).ok().filter(cap_std::fs::Metadata::is_file)?;
    Some(Entry { name, size: metadata.len() })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use cap_std::ambient_authority;

    use super::*;

    fn names(directory: &Path) -> Vec<(String, u64)> {
        let directory = Dir::open_ambient_dir(directory, ambient_authority()).unwrap();
        let entries = list(&directory).unwrap().unwrap();
        entries.into_iter().map(|entry| (entry.name.to_string(), entry.size)).collect()
    }

    #[test]
    fn files_of_all_folders_are_listed_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir_all(path.join("maps/2026")).unwrap();
        for (name, content) in [("maps/2026/rhine", "abc"), ("b", ""), ("a", "xy"), ("odd:name", "")] {
            fs::write(path.join(name), content).unwrap();
        }
        symlink("maps/2026/rhine", path.join("river")).unwrap();
        let all = [("a", 2), ("b", 0), ("maps/2026/rhine", 3), ("river", 3)];
        assert_eq!(names(path), all.map(|(name, size)| (name.to_owned(), size)));
    }

    #[test]
    fn nothing_outside_is_listed_and_loops_end() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "abc").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        symlink(outside.path(), path.join("folder")).unwrap();
        symlink(outside.path().join("secret"), path.join("file")).unwrap();
        symlink(".", path.join("loop")).unwrap();
        nix::unistd::mkfifo(&path.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(names(path), []);
    }
}
