//! Processors that no other program uses at the moment.
//!
//! If a single thread has to drive all shards, a run in several shards takes up to a third longer than a run in one. So
//! the network is divided among the processors that other programs leave.

use std::fs;
use std::thread;
use std::time::Duration;

/// The number of looks at the machine.
const LOOKS: usize = 10;
/// The time between two looks.
const BETWEEN: Duration = Duration::from_millis(3);

/// The number of processors, from 1 to `wanted`, that no other program used over some tens of milliseconds; `wanted` if
/// the system does not say.
pub fn spare(wanted: usize) -> usize {
    let look = |_| {
        thread::sleep(BETWEEN);
        fs::read_to_string("/proc/stat").ok().and_then(|text| others(&text))
    };
    let looks: Option<Vec<Look>> = (0..LOOKS).map(look).collect();
    looks.map_or(wanted, |looks| spare_of(wanted, &looks))
}

/// The processors of the machine, and the programs that ran or wanted to, without the one that looked.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    processors: usize,
    others: usize,
}

/// Reads `/proc/stat` of Linux.
fn others(text: &str) -> Option<Look> {
    let is_processor =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let running: usize = text.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()?;
    Some(Look { processors: text.lines().filter(is_processor).count(), others: running.saturating_sub(1) })
}

/// The number of processors that other programs leave on average, at least 1 and at most `wanted`.
fn spare_of(wanted: usize, looks: &[Look]) -> usize {
    let left: i64 = looks.iter().map(|look| look.processors as i64 - look.others as i64).sum();
    let mean = (left as f64 / looks.len() as f64).round().max(1.0);
    wanted.min(mean as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_spare_as_other_programs_leave() {
        let seen = |others: [usize; 4]| others.map(|others| Look { processors: 2, others });
        assert_eq!(spare_of(2, &seen([0, 0, 0, 1])), 2);
        assert_eq!(spare_of(2, &seen([1, 0, 1, 1])), 1);
        assert_eq!(spare_of(2, &seen([4, 5, 9, 3])), 1);
        let many = [Look { processors: 64, others: 40 }];
        assert_eq!([8, 100].map(|wanted| spare_of(wanted, &many)), [8, 24]);
    }

    #[test]
    fn what_linux_says_is_read_and_nothing_else() {
        let text = "cpu  9 0 9\ncpu0 5 0 5\ncpu1 4 0 4\nintr 7\nprocs_running 3\nprocs_blocked 0\n";
        assert_eq!(others(text), Some(Look { processors: 2, others: 2 }));
        assert_eq!(["", "procs_running", "procs_running x"].map(others), [None; 3]);
    }
}
