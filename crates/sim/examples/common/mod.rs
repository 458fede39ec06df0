//! What the programs that time the engine share.

use std::num::NonZero;
use std::time::Instant;

use anabranch_core::{Bytes, Span};
use anabranch_plan::{ControlPlane, Fairness, Plan, Record, RunPlan, Transport};
use anabranch_sim::{Threads, simulate_on};

/// Runs it on as many threads as the variable `THREADS` says (1 if it is not set, by the clock if it is `as-pays`), and
/// prints how many packet-hops a second that was and what memory it took.
pub fn time(plan: &Plan) {
    let (memory, began, cpu) = (peak_memory_mb(), Instant::now(), cpu_seconds());
    let (mut before, mut last) = ((0.0, 0), Instant::now());
    let outcome = simulate_on(plan, threads(), &mut |progress| {
        if last.elapsed().as_secs_f64() > 1.0 {
            let rate = (progress.events - before.1) as f64 / last.elapsed().as_secs_f64() / 1e6;
            eprintln!("{:6.3} s simulated, {rate:.1} million events a second", progress.time_s);
            (before, last) = ((progress.time_s, progress.events), Instant::now());
        }
        true
    });
    let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let (hops, events) = (outcome.hops as f64 / 1e6, outcome.events as f64 / 1e6);
    println!(
        "{cpu:.2} s of one core, {wall:.2} s by the clock, {hops:.1} million packet-hops, {events:.1} million events, \
         {} threads",
        outcome.threads
    );
    println!("{:.2} million packet-hops a second, {} packets under way at the end", hops / cpu, outcome.under_way);
    let delivered = outcome.subflows.iter().map(|subflow| subflow.delivered).sum::<u64>() as f64;
    let (seconds, count) = (plan.run.duration.seconds(), plan.transfers.len() as f64);
    println!("{:.1} Mbit/s delivered for each connection, on average", delivered * 8e-6 / seconds / count);
    let peak = peak_memory_mb();
    let each = (peak - memory) as f64 * 1e3 / count;
    println!(
        "peak memory {peak} MB; before the run {memory} MB, so {each:.1} kB for each connection, packets included"
    );
}

fn threads() -> Threads {
    match std::env::var("THREADS").as_deref() {
        Err(_) => Threads::Exactly(1),
        Ok("as-pays") => Threads::IfSpare(std::thread::available_parallelism().map_or(1, NonZero::get)),
        Ok(number) => Threads::Exactly(number.parse().expect("THREADS is a number, or as-pays")),
    }
}

/// A run of so many seconds that records nothing.
pub fn run_plan(seconds: f64) -> RunPlan {
    RunPlan {
        duration: Span::from_seconds(seconds).expect("some seconds"),
        warm_up: Span(0),
        seed: 1,
        sample: Span::from_seconds(seconds).expect("some seconds"),
        control: ControlPlane::Separate,
        control_packet: Bytes(64),
        control_share: None,
        repair: true,
        transport: Transport::default(),
        data: true,
        fairness: Fairness::default(),
        record: Record::default(),
    }
}

/// What this process has used of a core, if the system tells; in steps of 10 ms.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// The most memory that this process ever held, if the system tells.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
