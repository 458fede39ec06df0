//! Hosts: each is a thread in a separate network namespace, with one TUN device that has the addresses of paths.
//!
//! Threads and programs that this thread starts are in its namespace. Nothing has a name that outlives the host: when
//! the thread, its children and the device are gone, the kernel removes the rest, however the process ends.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anabranch_core::NodeId;
use nix::sched::{CloneFlags, unshare};

use crate::processes::Processes;

/// The name of the TUN device in each host.
pub const DEVICE: &str = "lab0";

/// Greatest number of packets that wait in the kernel for the emulator; a run in which more arrive between two reads is
/// invalid anyway.
const MOST_WAITING: u32 = 10_000;

type Job = Box<dyn FnOnce() + Send>;

/// A node of a plan at which paths begin or end, as programs see it.
pub struct Host {
    /// The node.
    pub node: NodeId,
    jobs: Sender<Job>,
    processes: Arc<Processes>,
}

/// The settings of a new host.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub node: NodeId,
    pub mtu: u32,
    /// The local address on each path that begins or ends at the host, and the address of the path's other end.
    pub addresses: Vec<(Ipv4Addr, Ipv4Addr)>,
}

impl Host {
    /// Makes a host of a lab, whose programs are among the lab's processes; returns it with its TUN device.
    pub(crate) fn start(setup: &Setup, processes: Arc<Processes>) -> io::Result<(Self, File)> {
        let (jobs, todo) = channel::<Job>();
        let (tell, told) = channel();
        let script = script(setup);
        thread::Builder::new().name(format!("host-{}", setup.node.0)).spawn(move || live(&script, &tell, todo))?;
        let file = told.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of a host has ended")))?;
        Ok((Self { node: setup.node, jobs, processes }, file))
    }

    /// Starts a thread in the host: its sockets, threads and programs belong to the host.
    pub fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.ask(|| thread::spawn(work))
    }

    /// Runs a function in the host, and waits for its result.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        self.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Starts a program in the host; it is killed with all its children when the lab ends, however that ends.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started, or the kernel refuses a process namespace.
    pub fn command(&self, command: Command) -> io::Result<Child> {
        let processes = self.processes.clone();
        self.run(move || processes.start(command))
    }

    /// Number of packets that the kernel dropped before the emulator read them.
    pub(crate) fn dropped(&self) -> u64 {
        let table = self.ask(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
        table.ok().and_then(|table| dropped_in(&table)).unwrap_or(0)
    }

    /// Runs a brief function on the host's own thread.
    fn ask<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = channel();
        let job = Box::new(move || drop(tell.send(work())));
        self.jobs.send(job).expect("a host's thread lives as long as the host");
        told.recv().expect("a host's thread does what it is asked")
    }
}

/// The host's thread: it makes the namespace, reports the result, and then runs functions on request.
fn live(script: &str, tell: &Sender<io::Result<File>>, todo: Receiver<Job>) {
    let file = make(script);
    let is_made = file.is_ok();
    if tell.send(file).is_ok() && is_made {
        for job in todo {
            job();
        }
    }
}

fn make(script: &str) -> io::Result<File> {
    let failed = |what: &str, error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"));
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| failed("a network namespace cannot be made", error.into()))?;
    // No packet is sent except those of programs; a kernel without IPv6 has no such file.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let file =
        anabranch_tun::open(DEVICE).map_err(|error| failed("a TUN device cannot be made from /dev/net/tun", error))?;
    configure(script).map_err(|error| failed("the program `ip` (iproute2) cannot set up a TUN device", error))?;
    Ok(file)
}

/// The commands for `ip`: the addresses of paths and no others, and a route from each to the other end of its path.
fn script(setup: &Setup) -> String {
    let mut script = format!(
        "link set lo up\nlink set {DEVICE} mtu {} txqueuelen {MOST_WAITING}\nlink set {DEVICE} up\n",
        setup.mtu
    );
    for (own, other) in &setup.addresses {
        let _ = writeln!(script, "addr add {own} peer {other} dev {DEVICE}");
    }
    script
}

fn configure(script: &str) -> io::Result<()> {
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let input = child.stdin.take().expect("its input is a pipe");
    // If the program exits early, its message is of more use than the failure to write to it.
    let _ = { input }.write_all(script.as_bytes());
    let output = child.wait_with_output()?;
    let says = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(io::Error::other(says.trim().replace('\n', "; "))) }
}

/// The number of packets that a device table counts as not sent, which is the twelfth number after the device's name.
fn dropped_in(table: &str) -> Option<u64> {
    let numbers = table.lines().find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    numbers.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_packets_stand_behind_those_that_were_sent() {
        let table = "Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
  lab0: 1 2 3 4 5 6 7 8 9 10 11 77 13 14 15 16
";
        assert_eq!(dropped_in(table), Some(77));
        assert_eq!(dropped_in("lab0:\n"), None);
    }
}
