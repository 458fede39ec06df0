//! The capacities of links that are network interfaces of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anabranch_core::Rate;
use anabranch_live::agents::AgentHandle;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Time between two looks at an interface.
const LOOK: Duration = Duration::from_millis(200);

/// The folder in which the kernel describes its interfaces.
const INTERFACES: &str = "/sys/class/net";

/// A link that is an interface.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Watched {
    /// Number of the link among those of the agent.
    pub link: u32,
    /// Name of the interface.
    pub interface: String,
    /// Capacity while the interface is up; `None` for its speed.
    pub capacity: Option<Rate>,
}

/// Whether there is an interface of this name now.
pub(crate) fn is_there(interface: &str) -> bool {
    Path::new(INTERFACES).join(interface).exists()
}

/// The capacity of an interface: 0 while it is down or not there, and otherwise that given or its speed.
///
/// # Errors
/// Returns an error if it is up and does not say its speed.
pub(crate) fn capacity(interface: &str, given: Option<Rate>) -> Result<Rate, String> {
    capacity_in(Path::new(INTERFACES), interface, given)
}

fn capacity_in(folder: &Path, interface: &str, given: Option<Rate>) -> Result<Rate, String> {
    let folder = folder.join(interface);
    let read = |name: &str| fs::read_to_string(folder.join(name)).map(|text| text.trim().to_owned());
    // Tunnels and the like do not know whether they are up.
    if !read("operstate").is_ok_and(|state| matches!(&*state, "up" | "unknown")) {
        return Ok(Rate(0.0));
    }
    if let Some(given) = given {
        return Ok(given);
    }
    // In Mbit/s; -1 or an error where there is none.
    let speed = read("speed").ok().and_then(|text| text.parse::<f64>().ok()).filter(|&speed| speed > 0.0);
    let speed = speed.ok_or_else(|| format!("the interface `{interface}` does not say its speed; give a capacity"))?;
    Ok(Rate(speed * 1e6))
}

/// Follows interfaces as long as the agent runs; their given capacities may change.
pub(crate) async fn follow(all: watch::Receiver<Vec<Watched>>, agent: AgentHandle) {
    let mut known: BTreeMap<u32, Rate> = BTreeMap::new();
    let mut beat = interval(LOOK);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        beat.tick().await;
        let present = all.borrow().clone();
        for watched in present {
            let present = capacity(&watched.interface, watched.capacity).unwrap_or(Rate(0.0));
            if known.insert(watched.link, present) != Some(present) {
                agent.set_capacity(watched.link, present);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_its_speed_while_it_is_up() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("eth7");
        fs::create_dir(&own).unwrap();
        let capacity = |given| capacity_in(folder.path(), "eth7", given);
        let say = |name: &str, text: &str| fs::write(own.join(name), text).unwrap();
        assert_eq!(capacity(None), Ok(Rate(0.0)), "the kernel has told nothing of it");
        say("operstate", "up\n");
        assert_eq!(capacity(None).unwrap_err(), "the interface `eth7` does not say its speed; give a capacity");
        assert_eq!(capacity(Some(Rate(5e6))), Ok(Rate(5e6)));
        say("speed", "-1\n");
        assert!(capacity(None).is_err());
        say("speed", "10000\n");
        assert_eq!(capacity(None), Ok(Rate(1e10)));
        for state in ["down\n", "lowerlayerdown\n", "dormant\n"] {
            say("operstate", state);
            assert_eq!((capacity(None), capacity(Some(Rate(5e6)))), (Ok(Rate(0.0)), Ok(Rate(0.0))));
        }
    }
}
