//! What an agent keeps over a restart: the number of its last start.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of this start: the time in microseconds, or one more than the last if the clock went back; and whether it is
/// not the first.
pub(crate) fn next_epoch(folder: &Path) -> io::Result<(u64, bool)> {
    fs::create_dir_all(folder)?;
    let path = folder.join("epoch");
    let last: u64 = match fs::read_to_string(&path) {
        Ok(text) => {
            text.trim().parse().map_err(|_| io::Error::other(format!("{}: it is no number", path.display())))?
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64);
    let epoch = now.max(last.saturating_add(1));
    let beside = folder.join("epoch.new");
    let mut file = File::create(&beside)?;
    file.write_all(format!("{epoch}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, &path)?;
    Ok((epoch, last > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_has_a_greater_number_even_if_the_clock_went_back() {
        let folder = tempfile::tempdir().unwrap();
        let (first, has_run) = next_epoch(folder.path()).unwrap();
        assert!(!has_run);
        let (second, has_run) = next_epoch(folder.path()).unwrap();
        assert!(second > first && has_run);
        let future = first + 1_000_000_000_000;
        fs::write(folder.path().join("epoch"), format!("{future}\n")).unwrap();
        assert_eq!(next_epoch(folder.path()).unwrap(), (future + 1, true));
        fs::write(folder.path().join("epoch"), "soon").unwrap();
        assert!(next_epoch(folder.path()).unwrap_err().to_string().contains("it is no number"));
    }
}
