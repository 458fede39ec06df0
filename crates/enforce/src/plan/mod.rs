//! The commands that make the kernel do what is wanted, as text; nothing here runs them.

mod classes;
mod places;
mod routes;
mod split;
mod table;

use std::fmt;

pub use self::classes::Leaf;
pub(crate) use self::classes::{Class, capacity_change, class_of, leaf_limit, rate_change};
pub(crate) use self::places::{Placed, Way, place};
pub(crate) use self::routes::{left_over as left_over_routes, replace as replace_routes};
pub(crate) use self::split::{follow, standing};
pub(crate) use self::table::split_text;
use crate::settings::Setup;

/// The name of the table of packet filters.
pub const TABLE: &str = "anabranch";

/// The handle of the queue discipline at the root of each device.
pub const ROOT: &str = "ab:";

/// A program that takes commands as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// `tc`: queue disciplines and classes.
    Tc,
    /// `nft`: the rules that find packets.
    Nft,
    /// `ip -4`: IPv4 routes.
    Ip4,
    /// `ip -6`: IPv6 routes.
    Ip6,
}

impl Tool {
    /// The program and its arguments; it takes commands from its standard input.
    pub fn command(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Tool::Tc => ("tc", &["-batch", "-"]),
            Tool::Nft => ("nft", &["-f", "-"]),
            Tool::Ip4 => ("ip", &["-4", "-batch", "-"]),
            Tool::Ip6 => ("ip", &["-6", "-batch", "-"]),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (program, arguments) = self.command();
        write!(f, "{program} {}", arguments.join(" "))
    }
}

/// Commands for one run of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The program.
    pub tool: Tool,
    /// The commands, one a line.
    pub text: String,
}

/// The commands before any session is set.
pub(crate) fn begin(setup: &Setup, leaf: Leaf, seed: u32) -> Vec<Batch> {
    batches([(Tool::Tc, classes::set_up(setup, leaf)), (Tool::Nft, table::set_up(setup, seed))])
}

/// The commands that remove everything; some fail if it was set up in part.
pub(crate) fn end(setup: &Setup, sessions: &[Placed]) -> Vec<Batch> {
    let [four, six] = routes::remove(setup, sessions, &[]);
    batches([
        (Tool::Nft, table::tear_down()),
        (Tool::Ip4, four),
        (Tool::Ip6, six),
        (Tool::Tc, classes::tear_down(setup)),
    ])
}

/// The first commands that lead from some sessions to others: they add what new packets need, and then change packets.
/// New classes begin at a rate in bit/s.
pub(crate) fn grow(
    setup: &Setup,
    leaf: Leaf,
    rate: &dyn Fn(&Way) -> f64,
    old: &[Placed],
    new: &[Placed],
) -> Vec<Batch> {
    let [four, six] = routes::add(setup, old, new);
    batches([
        (Tool::Tc, classes::add(setup, leaf, rate, old, new)),
        (Tool::Ip4, four),
        (Tool::Ip6, six),
        (Tool::Nft, table::change(setup, old, new)),
    ])
}

/// The last commands that lead from some sessions to others: they remove what no packet needs any more.
pub(crate) fn shrink(setup: &Setup, old: &[Placed], new: &[Placed]) -> Vec<Batch> {
    let [four, six] = routes::remove(setup, old, new);
    batches([(Tool::Ip4, four), (Tool::Ip6, six), (Tool::Tc, classes::remove(old, new))])
}

fn batches<const N: usize>(texts: [(Tool, String); N]) -> Vec<Batch> {
    texts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(tool, text)| Batch { tool, text }).collect()
}

#[cfg(test)]
mod tests;
