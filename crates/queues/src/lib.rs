//! All queue disciplines: an entry in the list below adds one to the scenario file, its schema and the tests.
//!
//! A [`Discipline`] holds the packets that wait at one link and determines the order in which they leave. It sees
//! neither the link nor the clock: the driver of the link passes it the time and the packets, and asks for the next
//! packet.

mod abc;
mod codel;
mod discipline;
mod drop_tail;
mod drr;
mod dualpi2;
mod dualpi2_turns;
mod ecn_ramp;
mod ecn_step;
mod family;
mod fifo;
mod flows;
mod fq_codel;
#[cfg(test)]
mod loop_tests;
mod marking;
mod meter;
mod periods;
mod pie;
mod read;
mod red;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod wfq;

use anabranch_core::choice::Choice;
use anabranch_core::choices;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::Serialize;

pub use discipline::{Discipline, Ecn, Item, Limits};
pub use dualpi2::Scheduler;
pub use family::Family;

/// Makes [`QueueDiscipline`] and [`QUEUES`] from a list of variant, module, name in files, readable name, family and
/// summary.
///
/// The module has `discipline`, and `Parameters`, which derive the traits that [`QueueDiscipline`] derives and have
/// defaults.
macro_rules! queues {
    ($($(#[$doc:meta])* $variant:ident($module:ident, $parameters:ident): $name:literal, $title:literal,
        $family:ident, $does:literal;)*) => {
        $(pub use $module::Parameters as $parameters;)*

        /// A queue discipline with its parameters, written `discipline = "codel"` or `discipline.red = { min = 5, max =
        /// 15 }`.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        pub enum QueueDiscipline {
            $($(#[$doc])* #[serde(rename = $name)] $variant($module::Parameters),)*
        }

        /// The name of each discipline in files, its readable name, its summary, its family, and its module in this
        /// crate.
        pub const QUEUES: [(&str, &str, &str, Family, &str); [$($name),*].len()] =
            [$(($name, $title, $does, Family::$family, stringify!($module))),*];

        impl QueueDiscipline {
            /// The name in files: `drop-tail`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The readable name: `Drop-tail`.
            pub fn title(&self) -> &'static str {
                match self { $(Self::$variant(_) => $title,)* }
            }

            /// The family of similar disciplines.
            pub fn family(&self) -> Family {
                match self { $(Self::$variant(_) => Family::$family,)* }
            }

            /// Makes an empty queue for a link, within `limits`, or within the discipline's default limits if there are
            /// none.
            ///
            /// `random` is for this queue alone.
            pub fn discipline(&self, limits: Limits, random: ChaCha8Rng) -> Box<dyn Discipline> {
                match self { $(Self::$variant(parameters) => $module::discipline(parameters, limits, random),)* }
            }
        }

        choices!(QueueDiscipline, "queue discipline", ("\"codel\"", "{ red = { min = 5, max = 15 } }"),
            $($variant($module): $name),*);
    };
}

queues! {
    /// ABC router: brakes enough packets to bring their sources to a target rate [goyal2020].
    Abc(abc, AbcQueueParameters): "abc", "ABC router", Marks,
        "tells ABC sources with each packet to enlarge or reduce their windows [goyal2020]";
    /// CoDel: drops or marks when packets have waited longer than a target for an interval [nichols2018].
    Codel(codel, CodelParameters): "codel", "CoDel", Early,
        "drops or marks packets at the head of the queue while they wait longer than a target [nichols2018]";
    /// Drop-tail: first in, first out; drops packets for which there is no room.
    DropTail(drop_tail, DropTailParameters): "drop-tail", "Drop-tail", Arrival,
        "first in, first out; drops packets for which there is no room";
    /// Deficit round robin: flows take turns, each with a quantum of bytes [shreedhar1996].
    Drr(drr, DrrParameters): "drr", "DRR", Turns,
        "flows take turns, each with a quantum of bytes [shreedhar1996]";
    /// DualPI2: a low-latency queue coupled with a classic queue [deschepper2023].
    DualPi2(dualpi2, DualPi2Parameters): "dualpi2", "DualPI2", Marks,
        "one queue for ECT(1) packets and one for others, with coupled marks and drops [deschepper2023]";
    /// ECN ramp: marks with a probability that grows with the backlog, for LGC and LGCC [teymoori2023].
    EcnRamp(ecn_ramp, EcnRampParameters): "ecn-ramp", "ECN ramp", Marks,
        "marks with a probability that grows with the backlog, for LGC and LGCC [teymoori2023]";
    /// ECN step: marks a packet that finds at least a given number of packets waiting, for DCTCP [bensley2017].
    EcnStep(ecn_step, EcnStepParameters): "ecn-step", "ECN step", Marks,
        "marks a packet that finds at least a given number of packets waiting, for DCTCP [bensley2017]";
    /// FQ-CoDel: flows in hashed queues take turns, with CoDel in each [hoeiland2018].
    FqCodel(fq_codel, FqCodelParameters): "fq-codel", "FQ-CoDel", Turns,
        "flows in hashed queues take turns, sparse ones first, with CoDel in each [hoeiland2018]";
    /// PIE: drops or marks at random on arrival to keep the delay at a target [pan2017].
    Pie(pie, PieParameters): "pie", "PIE", Early,
        "drops or marks at random on arrival to keep the delay at a target [pan2017]";
    /// RED: drops or marks at random on arrival, by the average queue [floyd1993].
    Red(red, RedParameters): "red", "RED", Early,
        "drops or marks at random on arrival, by the average queue [floyd1993]";
    /// Self-clocked fair queueing with equal weights: each flow gets the same share [golestani1994].
    Wfq(wfq, WfqParameters): "wfq", "WFQ", Turns,
        "self-clocked fair queueing with equal weights: each flow gets the same share [golestani1994]";
}

impl Default for QueueDiscipline {
    fn default() -> Self {
        Self::DropTail(drop_tail::Parameters::default())
    }
}

impl QueueDiscipline {
    /// Whether a queue without limits has a limit that the discipline sets.
    pub fn bounds_itself(&self) -> bool {
        matches!(self, Self::Abc(_) | Self::DualPi2(_) | Self::FqCodel(_))
    }

    /// Returns the discipline of this name with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        Choice::named(name)
    }
}
