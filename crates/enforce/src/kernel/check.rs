//! What is checked before anything is changed, and what an earlier run left.

use std::fmt::Write as _;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;

use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use serde_json::Value;

use super::programs::{ask, find, run};
use crate::error::EnforceError;
use crate::plan::{self, Batch, Leaf, ROOT, Tool};
use crate::settings::{Device, Setup};

/// The bit of `CAP_NET_ADMIN` among the rights of a process.
const NET_ADMIN: u64 = 1 << 12;

/// The socket that at most one process of a network namespace holds.
const SOCKET: &str = "anabranch-enforce";

const MODULES: &str =
    "the modules sch_htb, nf_tables, nft_hash, nft_numgen and nft_chain_nat, and nftables 1.0 or newer";

/// The proof that no other process enforces rates in the network namespace.
pub(crate) struct Lock {
    /// Absent if a process without the right to enforce holds the name.
    _socket: Option<UnixListener>,
}

impl Lock {
    pub fn take() -> Result<Self, EnforceError> {
        let address = SocketAddr::from_abstract_name(SOCKET).map_err(|e| EnforceError::System(e.to_string()))?;
        match UnixListener::bind_addr(&address) {
            Ok(socket) => Ok(Self { _socket: Some(socket) }),
            // Everybody may make a socket of this name, but nobody without the right can enforce rates.
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                if holder(&address).is_some_and(|process| !may_enforce(&format!("/proc/{process}/status"))) {
                    return Ok(Self { _socket: None });
                }
                Err(EnforceError::Running(SOCKET))
            }
            Err(error) => Err(EnforceError::System(format!("no socket @{SOCKET} can be made: {error}"))),
        }
    }
}

/// The process that made a socket, if that can be told.
fn holder(address: &SocketAddr) -> Option<i32> {
    let stream = UnixStream::connect_addr(address).ok()?;
    let process = getsockopt(&stream, PeerCredentials).ok()?.pid();
    (process > 0).then_some(process)
}

/// Whether the process that a file of the kernel describes may change the network; so it is if that cannot be told.
fn may_enforce(status: &str) -> bool {
    let status = fs::read_to_string(status).unwrap_or_default();
    let rights = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    rights.is_none_or(|rights| rights & NET_ADMIN != 0)
}

/// Checks programs, rights and devices.
pub(crate) fn check(setup: &Setup) -> Result<(), EnforceError> {
    for (program, package) in [("tc", "iproute2"), ("ip", "iproute2"), ("nft", "nftables")] {
        find(program).ok_or(EnforceError::Program { program, package })?;
    }
    if !may_enforce("/proc/thread-self/status") {
        return Err(EnforceError::NotPermitted);
    }
    for Device { name, .. } in &setup.devices {
        if_nametoindex(name.as_str()).map_err(|_| EnforceError::Device(name.clone()))?;
    }
    Ok(())
}

/// Tries the kernel in a network namespace that nobody uses; returns the queue discipline that classes get.
pub(crate) fn leaf_of_kernel(setup: &Setup) -> Result<Leaf, EnforceError> {
    let setup = Setup { devices: vec![Device { name: "lo".to_owned(), capacity: None }], ..setup.clone() };
    let probe = move || {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            // Without the right to make a namespace, the first change is the probe.
            return Ok(Leaf::Bfifo);
        }
        for batch in plan::begin(&setup, Leaf::Bfifo, 0) {
            run(&batch).map_err(|error| match error {
                EnforceError::Refused { tool, said } => EnforceError::Unsupported { tool, said, needs: MODULES },
                other => other,
            })?;
        }
        let text = format!("qdisc replace dev lo parent {ROOT}2 fq_codel\n");
        Ok(if run(&Batch { tool: Tool::Tc, text }).is_ok() { Leaf::FqCodel } else { Leaf::Bfifo })
    };
    let thread = thread::Builder::new().name("enforce-probe".to_owned()).spawn(probe);
    let thread = thread.map_err(|error| EnforceError::System(format!("there can be no thread: {error}")))?;
    thread.join().unwrap_or_else(|_| Err(EnforceError::System("the probe of the kernel failed".to_owned())))
}

/// The commands that remove what an earlier run left. Others' things in our places are an error.
pub(crate) fn left_overs(setup: &Setup) -> Result<Vec<Batch>, EnforceError> {
    let mut batches = vec![Batch { tool: Tool::Tc, text: root_disciplines(setup)? }];
    for (tool, family) in [(Tool::Ip4, "-4"), (Tool::Ip6, "-6")] {
        // A kernel without IPv6 has no rules for it.
        let answer = match ask(tool, &[family, "-N", "-j", "rule", "show"]) {
            Err(EnforceError::Refused { .. }) if tool == Tool::Ip6 => continue,
            answer => answer?,
        };
        batches.push(Batch { tool, text: rules(setup, &answer)? });
    }
    batches.retain(|batch| !batch.text.is_empty());
    Ok(batches)
}

fn root_disciplines(setup: &Setup) -> Result<String, EnforceError> {
    let answer = ask(Tool::Tc, &["-j", "qdisc", "show"])?;
    let mut text = String::new();
    for found in list(&answer).iter().filter(|found| found["root"] == true) {
        let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        let (device, kind, handle) = (word("dev"), word("kind"), word("handle"));
        if kind == "htb" && handle == ROOT {
            let _ = writeln!(text, "qdisc del dev {device} root");
        } else if handle != "0:" && setup.devices.iter().any(|own| own.name == device) {
            return Err(EnforceError::Foreign { device, kind, handle });
        }
    }
    Ok(text)
}

fn rules(setup: &Setup, answer: &str) -> Result<String, EnforceError> {
    let mut text = String::new();
    let (first, last) = (u64::from(setup.priorities), u64::from(setup.priorities + setup.most_paths()) + 1);
    for rule in list(answer) {
        let number = |key: &str| rule[key].as_u64().or_else(|| rule[key].as_str()?.parse().ok());
        let Some(priority) = number("priority").filter(|priority| (first..=last).contains(priority)) else { continue };
        let (table, is_own) = if priority == first || priority == last {
            (None, !rule["goto"].is_null() || rule.get("nop").is_some())
        } else {
            let own = priority - first + u64::from(setup.tables);
            (Some(own), number("table") == Some(own))
        };
        if !is_own {
            return Err(EnforceError::System(format!(
                "`ip rule` has a rule of others with priority {priority}; choose `priorities` so that {first} to {last} \
                 are free"
            )));
        }
        text += &plan::left_over_routes(priority, table);
    }
    Ok(text)
}

fn list(answer: &str) -> Vec<Value> {
    serde_json::from_str(answer).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_an_earlier_run_go_and_those_of_others_are_an_error() {
        let setup = Setup::default();
        let own = r#"[{"priority":0,"src":"all","table":"255"},
            {"priority":20000,"src":"all","dst":"fc00::1","goto":24096},
            {"priority":20002,"src":"all","fwmark":"0x20000","table":"700002"},
            {"priority":24096,"src":"all","nop":null}]"#;
        assert_eq!(
            rules(&setup, own).unwrap(),
            "rule del priority 20000\nroute flush table 700002\nrule del priority 20002\nrule del priority 24096\n"
        );
        let foreign = r#"[{"priority":20002,"src":"all","table":"100"}]"#;
        assert!(rules(&setup, foreign).unwrap_err().to_string().contains("priority 20002"));
    }
}
