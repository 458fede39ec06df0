//! Machines of a test: threads in network namespaces without names, and programs in them.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anabranch_core::Rate;
use anabranch_enforce::{Backend, Device, Enforcer, Path, Protocol, Route, Session, Setup, Traffic};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, gettid};

type Job = Box<dyn FnOnce() + Send>;

/// A machine; it ends, with everything in its network, when the last program in it does.
pub struct Node {
    jobs: Sender<Job>,
    thread: i32,
}

impl Node {
    /// Makes a machine whose loopback device is up.
    pub fn new() -> Self {
        let (jobs, todo): (_, Receiver<Job>) = channel();
        let (tell, told) = channel();
        thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).expect("namespaces were tried before");
            tell.send(gettid().as_raw()).unwrap();
            for job in todo {
                job();
            }
        });
        let node = Self { jobs, thread: told.recv().unwrap() };
        node.sh("ip link set lo up");
        // Segments leave one by one, as they do where round trips take longer; otherwise 64 KiB are the grain of all rates.
        node.set("ipv4/tcp_tso_rtt_log", "0");
        // BBR would send less now and then to measure the round trip.
        node.set("ipv4/tcp_congestion_control", "reno");
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding", "ipv6/conf/all/seg6_enabled"] {
            node.set(key, "1");
        }
        for place in ["all", "default"] {
            node.set(&format!("ipv4/conf/{place}/rp_filter"), "0");
            node.set(&format!("ipv6/conf/{place}/accept_dad"), "0");
            node.set(&format!("ipv6/conf/{place}/seg6_enabled"), "1");
        }
        node
    }

    /// Runs a function on the machine's thread.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (tell, told) = channel();
        self.jobs.send(Box::new(move || drop(tell.send(work())))).unwrap();
        told.recv().expect("work on a machine does not panic")
    }

    pub fn start(&self, mut command: Command) -> Running {
        Running(self.run(move || command.spawn()).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Runs a line of a shell, which must succeed; returns what it prints.
    pub fn sh(&self, line: &str) -> String {
        let own = line.to_owned();
        let output = self.run(move || Command::new("timeout").args(["30", "sh", "-c", &own]).output()).unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn set(&self, key: &str, value: &str) {
        let (path, value) = (format!("/proc/sys/net/{key}"), value.to_owned());
        // A kernel without IPv6 has no such key.
        let _ = self.run(move || fs::write(path, value));
    }

    /// Starts rates here.
    pub fn enforce(&self, setup: Setup) -> Enforcer {
        self.run(move || Enforcer::start(setup, Backend::Kernel)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Everything that enforcement may change here.
    pub fn state(&self) -> String {
        // What the kernel itself sends when a device comes up is counted at any time.
        self.sh("nft list ruleset; ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; \
             tc qdisc show | sed 's/direct_packets_stat [0-9]*//'; tc class show dev lo")
    }
}

/// Joins two machines by a cable; both ends get addresses.
pub fn cable(a: (&Node, &str, &[&str]), b: (&Node, &str, &[&str])) {
    a.0.sh(&format!("ip link add {} type veth peer name {} netns {}", a.1, b.1, b.0.thread));
    for (node, device, addresses) in [a, b] {
        for address in addresses {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            node.sh(&format!("ip addr add {address} dev {device} {nodad}"));
        }
        node.sh(&format!("ip link set {device} up"));
        node.set(&format!("ipv6/conf/{device}/seg6_enabled"), "1");
    }
}

/// A program that is killed at the end, with those that it has started in its group.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        // `timeout` begins a group; a program of another group is killed alone.
        let _ = killpg(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGKILL);
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One test at a time, so that rates are measured on a quiet machine; `None`, with a message, where the kernel, a right or a
/// program is missing.
pub fn alone(programs: &[&str]) -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for program in ["tc", "ip", "nft", "timeout"].iter().chain(programs) {
        if Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            eprintln!("skipped: the program {program} is missing");
            return None;
        }
    }
    let refusal = thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET)).join().unwrap();
    if let Err(error) = refusal {
        eprintln!("skipped: there can be no network namespace: {error}");
        return None;
    }
    Some(guard)
}

/// Two machines with two cables; the second has the address 10.9.0.2, too, which the first reaches over the first cable.
pub fn two_cables() -> (Node, Node) {
    let (a, b) = (Node::new(), Node::new());
    cable((&a, "a0", &["10.1.0.1/24"]), (&b, "b0", &["10.1.0.2/24"]));
    cable((&a, "a1", &["10.2.0.1/24"]), (&b, "b1", &["10.2.0.2/24"]));
    b.sh("ip addr add 10.9.0.2/32 dev lo");
    a.sh("ip route add 10.9.0.2 via 10.1.0.2");
    (a, b)
}

pub fn setup(devices: &[(&str, Option<f64>)]) -> Setup {
    let device =
        |&(name, capacity): &(&str, Option<f64>)| Device { name: name.to_owned(), capacity: capacity.map(Rate) };
    Setup { devices: devices.iter().map(device).collect(), ..Setup::default() }
}

pub fn via(device: &str, gateway: &str) -> Path {
    let route = Route::Via { gateway: gateway.parse().unwrap(), source: None };
    Path { device: device.to_owned(), route }
}

/// A session of TCP traffic to some ports.
pub fn session(name: &str, ports: std::ops::RangeInclusive<u16>, paths: Vec<Path>) -> Session {
    let traffic = Traffic { protocol: Some(Protocol::Tcp), destination_ports: vec![ports], ..Traffic::default() };
    Session { name: name.to_owned(), traffic: vec![traffic], paths }
}

pub fn rates(mbit: &[f64]) -> Vec<Option<Rate>> {
    mbit.iter().map(|&rate| (rate > 0.0).then_some(Rate(rate * 1e6))).collect()
}

/// Streams of iperf3 from one machine to another, for a time.
pub fn iperf(from: &Node, to: &Node, address: &str, port: u16, streams: u16, seconds: u32) -> (Running, Running) {
    let command = |line: String| {
        let mut command = Command::new("timeout");
        command.arg((seconds + 10).to_string()).args(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let server = to.start(command(format!("iperf3 -s -1 -p {port}")));
    let listens = format!("{port:04X} ");
    wait("the server listens", || {
        let listens = listens.clone();
        to.run(move || {
            ["tcp", "tcp6"].iter().any(|table| {
                let table = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
                table.lines().any(|line| line.contains(&format!(":{listens}")) && line.contains(" 0A "))
            })
        })
    });
    let client = from.start(command(format!("iperf3 -c {address} -p {port} -P {streams} -t {seconds} -J")));
    (client, server)
}

pub fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(10), "{what}: not within 10 s");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Repeats rates as an agent does, for a time.
pub fn hold(enforcer: &Enforcer, seconds: f64, granted: &[(&str, &[f64])]) {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs_f64(seconds) {
        for (session, mbit) in granted {
            enforcer.set_rates(session, &rates(mbit)).unwrap();
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Mean rates in Mbit/s over two seconds, by the kernel's counters: of each path of the sessions, and of other traffic.
pub fn measure(enforcer: &Enforcer, granted: &[(&str, &[f64])]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let before = enforcer.counters().unwrap();
    let begin = Instant::now();
    hold(enforcer, 2.0, granted);
    let after = enforcer.counters().unwrap();
    assert_eq!((after.errors, &after.last_error), (0, &None));
    let rate = |from: u64, to: u64| (to - from) as f64 * 8e-6 / begin.elapsed().as_secs_f64();
    let paths = granted.iter().map(|(session, _)| {
        let pairs = before.sessions[*session].iter().zip(&after.sessions[*session]);
        pairs.map(|(before, after)| rate(before.bytes, after.bytes)).collect()
    });
    let others = before.others.values().zip(after.others.values()).map(|(a, b)| rate(a.bytes, b.bytes)).collect();
    (paths.collect(), others)
}

pub fn assert_near(measured: &[f64], wanted: &[f64]) {
    let near = |(measured, wanted): (&f64, &f64)| (measured - wanted).abs() <= 0.03 * wanted + 0.02;
    assert!(measured.iter().zip(wanted).all(near), "measured {measured:.2?}, granted {wanted:.2?} Mbit/s");
}
