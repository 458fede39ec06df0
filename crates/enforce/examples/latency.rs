//! Measures how fast the kernel follows a changed rate, and what changes cost, in a namespace that ends with the program.
//!
//! `cargo run --release -p anabranch-enforce --example latency -- 1000` has 1000 classes.

#[cfg(target_os = "linux")]
fn main() {
    measure::run();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod measure {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use anabranch_core::Rate;
    use anabranch_enforce::{Backend, Device, Enforcer, Path, Protocol, Route, Session, Setup, Traffic};
    use nix::sched::{CloneFlags, unshare};

    /// Paths of a session.
    const PATHS: usize = 4;

    pub fn run() {
        let classes: usize = std::env::args().nth(1).map_or(1, |text| text.parse().expect("a number of classes"));
        unshare(CloneFlags::CLONE_NEWNET).expect("root can make a network namespace");
        let setup = Setup { devices: vec![Device { name: "lo".to_owned(), capacity: None }], ..Setup::default() };
        let enforcer = Enforcer::start(setup, Backend::Kernel).expect("it starts");
        let path = Path { device: "lo".to_owned(), route: Route::Ordinary };
        let traffic = Traffic { protocol: Some(Protocol::Udp), destination_ports: vec![9..=9], ..Traffic::default() };
        let sessions: Vec<Session> = (0..classes.div_ceil(PATHS))
            .map(|number| Session {
                name: format!("s{number}"),
                traffic: vec![traffic.clone()],
                paths: vec![path.clone(); PATHS.min(classes - number * PATHS)],
            })
            .collect();
        let begin = Instant::now();
        enforcer.set_sessions(&sessions).expect("they are set");
        println!("{classes} classes set in {:.0} ms", begin.elapsed().as_secs_f64() * 1e3);
        let set = |session: &Session, mbit: f64| {
            let rates = vec![Some(Rate(mbit * 1e6)); session.paths.len()];
            enforcer.set_rates(&session.name, &rates).expect("the session is there");
        };
        for session in &sessions {
            set(session, 1.0);
        }
        std::thread::sleep(Duration::from_secs(2));

        let mut waits: Vec<f64> = (0..200)
            .map(|round| {
                let before = class();
                let begin = Instant::now();
                set(&sessions[0], 2.0 + f64::from(round % 50));
                while class() == before {
                    assert!(begin.elapsed() < Duration::from_secs(5), "the kernel does not follow");
                }
                let wait = begin.elapsed().as_secs_f64() * 1e3;
                std::thread::sleep(Duration::from_millis(15));
                wait
            })
            .collect();
        waits.sort_by(f64::total_cmp);
        println!("a change alone: p50 {:.2} ms, p99 {:.2} ms", waits[100], waits[197]);

        let (before, begin) = (cpu(), Instant::now());
        let mut changes = 0;
        while begin.elapsed() < Duration::from_secs(5) {
            let session = &sessions[changes / PATHS % sessions.len()];
            set(session, 5.0 + (changes % 77) as f64);
            changes += session.paths.len();
            let due = Duration::from_secs_f64(changes as f64 / 1000.0);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
        }
        let used = cpu() - before;
        println!("{} changes/s: {:.1} % of a processor", changes / 5, 100.0 * used / begin.elapsed().as_secs_f64());
        let counters = enforcer.counters().expect("tc answers");
        println!("errors: {} {:?}", counters.errors, counters.last_error);
    }

    /// Seconds of processor time that this process and its children that run have used.
    fn cpu() -> f64 {
        // Linux counts in hundredths of a second for programs (USER_HZ).
        let ticks = 100.0;
        let own = std::process::id().to_string();
        let stats = std::fs::read_dir("/proc").expect("/proc is there").flatten().filter_map(|entry| {
            let text = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let name = entry.file_name().into_string().ok()?;
            let fields: Vec<String> = text.rsplit_once(") ")?.1.split(' ').map(ToOwned::to_owned).collect();
            // Fields 11 to 14 from the state on: own time, and that of children that have ended.
            (name == own || fields[1] == own)
                .then(|| fields[11..15].iter().filter_map(|text| text.parse::<f64>().ok()).sum::<f64>() / ticks)
        });
        stats.sum()
    }

    /// What the kernel says of the first class; a question takes some milliseconds, which are part of what is measured.
    fn class() -> Vec<u8> {
        Command::new("tc")
            .args(["class", "show", "dev", "lo", "classid", "ab:101"])
            .output()
            .expect("tc is there")
            .stdout
    }
}
