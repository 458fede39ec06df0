//! What is left when the enforcing process is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use anabranch_enforce::{Backend, EnforceError, Enforcer};

use crate::node::{alone, rates, session, setup, two_cables, via, wait};

const CHILD: &str = "ENFORCE_IN_A_CHILD";

/// Not a test but the process that is killed.
#[test]
#[ignore = "the test below starts it"]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let enforcer = Enforcer::start(setup(&[("a0", None), ("a1", None)]), Backend::Kernel).unwrap();
    let paths = vec![via("a0", "10.1.0.2"), via("a1", "10.2.0.2")];
    enforcer.set_sessions(&[session("bulk", 5201..=5201, paths)]).unwrap();
    enforcer.set_rates("bulk", &rates(&[50.0, 70.0])).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    println!("\nready");
    std::thread::sleep(Duration::from_secs(30));
}

#[test]
fn rates_fall_to_the_floor_when_the_process_is_killed_and_a_new_one_replaces_what_is_left() {
    let Some(_alone) = alone(&[]) else { return };
    let (a, _b) = two_cables();
    let before = a.state();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "after_death::child", "--ignored", "--nocapture"]).env(CHILD, "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = a.start(command);
    let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    let rates_of = || a.sh("tc class show dev a0; tc class show dev a1");
    assert!(rates_of().contains("rate 50Mbit") && rates_of().contains("rate 70Mbit"), "{}", rates_of());
    // There is one at a time.
    let second = a.run(|| Enforcer::start(setup(&[("a0", None)]), Backend::Kernel).err());
    assert!(matches!(second, Some(EnforceError::Running(_))), "{second:?}");

    child.0.kill().unwrap(); // SIGKILL
    child.0.wait().unwrap();
    wait("both rates are at the floor", || rates_of().matches("rate 64Kbit").count() == 2);
    assert!(a.state().contains("session_1"), "the kill left its rules");

    // The next run has other devices, and still removes all that was left.
    let next = a.enforce(setup(&[("a1", None)]));
    assert!(!a.state().contains("session_1"));
    assert!(!a.sh("tc qdisc show dev a0; ip rule; ip route show table all").contains("htb"));
    a.run(move || next.stop());
    assert_eq!(a.state(), before);
}
