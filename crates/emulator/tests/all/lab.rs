//! Labs with real hosts; where the kernel refuses them each test says so, and does nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anabranch_core::NodeId;
use anabranch_emulator::{Lab, LabError, Options, Report, lab_refusal};
use anabranch_plan::Plan;
use anabranch_scenario::{NetworkSource, Scenario};

/// One lab at a time: what they measure is time.
static TURN: Mutex<()> = Mutex::new(());

/// The turn of a test; `None`, and words, if there can be no lab.
fn turn() -> Option<MutexGuard<'static, ()>> {
    if let Some(reason) = lab_refusal() {
        println!("skipped: {reason}");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn plan(links: &str) -> Plan {
    let text = format!("{links}\n[[connection]]\nsource = \"a\"\ntarget = \"b\"\n");
    let scenario = Scenario::parse(&text).unwrap().for_programs();
    let Ok(NetworkSource::Inline(network)) = scenario.network() else { panic!("it stands there") };
    scenario.plan(network.into(), None, &|_| Err("no files".to_owned()), &|_| true).unwrap()
}

/// A link from a to b and back.
fn pair(capacity: &str) -> Plan {
    plan(&format!(
        "[[link]]\nname = \"l\"\nsource = \"a\"\ntarget = \"b\"\ndelay = \"10 ms\"\nqueue = \"200 packets\"\ncapacity = \"{capacity}\""
    ))
}

/// A lab, and the addresses of its first path.
fn start(plan: &Plan) -> (Lab, SocketAddr, SocketAddr) {
    let lab = Lab::start(plan, Options::default()).unwrap();
    let (from, to) = lab.addresses(0);
    (lab, SocketAddr::new(from, 0), SocketAddr::new(to, 7000))
}

/// The least and the median round trip of small packets, in milliseconds.
fn round_trips(lab: &Lab, from: SocketAddr, to: SocketAddr) -> (f64, f64) {
    let echo = lab.host(NodeId(1)).unwrap().run(move || UdpSocket::bind(to).unwrap());
    let socket = lab.host(NodeId(0)).unwrap().run(move || UdpSocket::bind(from).unwrap());
    let answering = std::thread::spawn(move || {
        let mut buffer = [0; 64];
        for _ in 0..20 {
            let (bytes, back) = echo.recv_from(&mut buffer).unwrap();
            echo.send_to(&buffer[..bytes], back).unwrap();
        }
    });
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut all: Vec<f64> = (0..20)
        .map(|_| {
            let begin = Instant::now();
            socket.send_to(b"ping", to).unwrap();
            socket.recv_from(&mut [0; 64]).unwrap();
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    answering.join().unwrap();
    all.sort_by(f64::total_cmp);
    (all[0], all[10])
}

/// The rate of a TCP connection in Mbit/s, from half a second after the first byte that arrives on.
fn tcp(lab: &Lab, to: SocketAddr, seconds: f64) -> f64 {
    let listener = lab.host(NodeId(1)).unwrap().run(move || TcpListener::bind(to).unwrap());
    let sending = lab.host(NodeId(0)).unwrap().spawn(move || {
        let mut stream = TcpStream::connect(to).unwrap();
        let (begin, block) = (Instant::now(), vec![0; 1 << 16]);
        while begin.elapsed().as_secs_f64() < seconds + 0.5 && stream.write_all(&block).is_ok() {}
    });
    let (mut stream, _) = listener.accept().unwrap();
    let (mut buffer, mut bytes, mut begin) = (vec![0; 1 << 18], 0, None);
    let (mut first, mut last) = (None, 0.0);
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        let elapsed = begin.get_or_insert_with(Instant::now).elapsed().as_secs_f64();
        if elapsed > seconds + 0.5 {
            break;
        }
        // Slow start does not count, nor the read that takes what had come by its end.
        if first.is_some() {
            (bytes, last) = (bytes + read, elapsed);
        } else if elapsed > 0.5 {
            first = Some(elapsed);
        }
    }
    drop(stream);
    sending.join().unwrap();
    bytes as f64 * 8.0 / (last - first.expect("something comes")) / 1e6
}

fn show(what: &str, report: &Report) {
    let packets: u64 = report.links.iter().map(|link| link.packets).sum();
    let each = report.busy.seconds() * 1e6 / packets as f64;
    println!("{what}: {each:.2} us of a processor for each packet and link, {report:?}");
}

#[test]
fn a_round_trip_takes_what_the_links_do() {
    let Some(_turn) = turn() else { return };
    let (lab, from, to) = start(&pair("100 Mbit/s"));
    let (least, median) = round_trips(&lab, from, to);
    let report = lab.finish();
    show(&format!("round trip {least:.3} ms at the least, {median:.3} ms in the median"), &report);
    assert!(least >= 20.0 && report.delivered >= 40, "{least}");
    // Late by no more than the 5 % that a lab may be, or the report says so.
    assert!(median < 21.0 || !report.is_valid() || !report.has_precedence, "{median}");
}

#[test]
fn a_tcp_connection_gets_what_the_link_carries() {
    let Some(_turn) = turn() else { return };
    let (lab, _, to) = start(&pair("100 Mbit/s"));
    let mbps = tcp(&lab, to, 3.0);
    let report = lab.finish();
    show(&format!("TCP got {mbps:.1} of 100 Mbit/s"), &report);
    // 1,448 of 1,500 bytes are data: 96.5 Mbit/s at the most.
    assert!(mbps < 97.0, "{mbps}");
    assert!(mbps > 80.0 || !report.is_valid() || !report.has_precedence, "{mbps}");
    assert_eq!(report.links[0].link, "l");
    assert!(report.links[0].most_packets <= 200);
}

#[test]
fn a_fast_link_carries_what_the_machine_can() {
    let Some(_turn) = turn() else { return };
    let (lab, _, to) =
        start(&plan("[[link]]\nsource = \"a\"\ntarget = \"b\"\ndelay = \"1 ms\"\ncapacity = \"100 Gbit/s\""));
    let mbps = tcp(&lab, to, 2.0);
    show(&format!("TCP got {mbps:.0} of 100,000 Mbit/s"), &lab.finish());
    assert!(mbps > 100.0, "{mbps}");
}

/// Sends 120 Mbit/s over a link of 50 for a second: how many datagrams arrived, by how much the sender was late at most,
/// and the report.
fn flood() -> (u64, Duration, Report) {
    let (lab, from, to) = start(&pair("50 Mbit/s"));
    let sink = lab.host(NodeId(1)).unwrap().run(move || UdpSocket::bind(to).unwrap());
    sink.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    // 100 datagrams of 1,472 bytes, 1,500 with their headers, in each of 100 periods of 10 ms.
    let sending = lab.host(NodeId(0)).unwrap().spawn(move || {
        let socket = UdpSocket::bind(from).unwrap();
        let (begin, mut late) = (Instant::now(), Duration::ZERO);
        for period in 1..=100 {
            for _ in 0..100 {
                socket.send_to(&[0; 1472], to).unwrap();
            }
            let due = Duration::from_millis(10 * period);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
            late = late.max(begin.elapsed().saturating_sub(due));
        }
        late
    });
    let received = std::iter::from_fn(|| sink.recv(&mut [0; 2000]).ok()).count() as u64;
    (received, sending.join().unwrap(), lab.finish())
}

#[test]
fn more_datagrams_than_a_link_carries_are_dropped_at_its_queue_alone() {
    let Some(_turn) = turn() else { return };
    // While a sender halts, the queue runs empty: then it is done again, twice at most.
    let steady = |(_, late, _): &(u64, Duration, Report)| *late < Duration::from_millis(20);
    let (received, late, report) = (0..2).map(|_| flood()).find(steady).unwrap_or_else(flood);
    show(&format!("{received} of 10,000 datagrams arrived, sent up to {late:?} late"), &report);
    let link = &report.links[0];
    assert_eq!(link.packets + link.dropped, 10_000);
    // The link carries 4,167 in a second, and then the 200 that wait.
    assert!((4_000..=4_700).contains(&link.packets), "{}", link.packets);
    assert!(received == link.packets || !report.is_valid(), "{received}");
}

#[test]
fn a_program_runs_in_a_host_and_ends_with_it() {
    let Some(_turn) = turn() else { return };
    let (lab, ..) = start(&pair("100 Mbit/s"));
    let mut ip = Command::new("ip");
    ip.args(["-4", "addr", "show", "lab0"]).stdout(Stdio::piped());
    let output = lab.host(NodeId(1)).unwrap().command(ip).unwrap().wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("inet 10.0.0.2 peer 10.0.0.1/32"), "{text}");
    let mut sleep = Command::new("sleep");
    sleep.arg("60");
    let begin = Instant::now();
    let mut sleeper = lab.host(NodeId(0)).unwrap().command(sleep).unwrap();
    drop(lab);
    assert!(!sleeper.wait().unwrap().success() && begin.elapsed() < Duration::from_secs(30));
}

/// Starts a command line in the host of a node; what it prints is kept.
fn shell(lab: &Lab, node: usize, line: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdout(Stdio::piped());
    lab.host(NodeId::new(node)).unwrap().command(command).unwrap()
}

#[test]
fn what_a_program_starts_as_a_session_of_its_own_ends_with_the_lab() {
    let Some(_turn) = turn() else { return };
    let (lab, ..) = start(&pair("100 Mbit/s"));
    let mut left = shell(&lab, 1, "trap '' TERM HUP; setsid sleep 60 &");
    assert!(left.wait().unwrap().success());
    let begin = Instant::now();
    drop(lab);
    // What sleeps has the pipe, and nobody else; so the pipe ends when it does.
    left.stdout.unwrap().read_to_end(&mut Vec::new()).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn programs_of_a_lab_see_each_other_and_no_process_outside() {
    let Some(_turn) = turn() else { return };
    let (lab, ..) = start(&pair("100 Mbit/s"));
    let text = |child: Child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let namespaces = [0, 1].map(|node| text(shell(&lab, node, "readlink /proc/self/ns/pid; kill -0 1 && echo seen")));
    assert_eq!(namespaces[0], namespaces[1]);
    assert!(namespaces[0].ends_with("seen\n"), "{namespaces:?}");
    let ours = std::fs::read_link("/proc/self/ns/pid").unwrap();
    assert_ne!(namespaces[0].lines().next(), ours.to_str());
    lab.finish();
}

#[test]
fn a_device_that_a_program_removes_does_not_keep_the_lab_busy() {
    let Some(_turn) = turn() else { return };
    let (lab, ..) = start(&pair("100 Mbit/s"));
    let mut ip = Command::new("ip");
    ip.args(["link", "del", "lab0"]);
    assert!(lab.host(NodeId(1)).unwrap().command(ip).unwrap().wait().unwrap().success());
    std::thread::sleep(Duration::from_millis(300));
    let report = lab.finish();
    assert!(report.busy.seconds() < 0.1, "{report:?}");
}

#[test]
fn a_lab_that_cannot_be_says_why() {
    let plan = pair("100 Mbit/s");
    let refused = |plan: &Plan, mtu| {
        Lab::start(plan, Options { mtu, ..Options::default() }).err().map(|error: LabError| error.to_string())
    };
    assert!(refused(&plan, 67).unwrap().contains("must be 68 to 65535"));
    let without = Plan { paths: anabranch_core::Paths::new(), ..plan };
    assert!(refused(&without, 1500).unwrap().contains("no paths"));
}
