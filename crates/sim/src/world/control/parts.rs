//! What a link control may use of a link: the part of the capacity that its protocol may hand out, and the bytes that a
//! control packet takes.

use anabranch_core::{Bytes, LinkId, Rate};
use anabranch_plan::Plan;

use crate::routes::Routes;

/// The parts of all links.
#[derive(Debug)]
pub(super) struct Parts {
    /// The part of each link's capacity that each protocol may hand out, at index link * protocols + protocol; empty if
    /// every protocol may hand out all.
    of_links: Vec<f64>,
    protocols: usize,
    /// Size of control packets.
    size: Bytes,
    /// The number of links of the network; links of greater numbers stand for demands.
    real: u32,
}

impl Parts {
    pub fn new(plan: &Plan, routes: &Routes) -> Self {
        Self {
            of_links: of_links(plan, routes),
            protocols: plan.protocols.len(),
            size: plan.run.control_packet,
            real: routes.used.len() as u32,
        }
    }

    /// The part of a link's capacity that a protocol may hand out.
    #[inline]
    pub fn of(&self, capacity: Rate, link: u32, protocol: u16) -> Rate {
        if self.of_links.is_empty() {
            return capacity;
        }
        Rate(capacity.0 * self.of_links[link as usize * self.protocols + usize::from(protocol)])
    }

    /// Bytes that a control packet takes of a link; none of one that stands for a demand.
    #[inline]
    pub fn control_packet(&self, link: u32) -> Bytes {
        if link < self.real { self.size } else { Bytes(0) }
    }
}

fn of_links(plan: &Plan, routes: &Routes) -> Vec<f64> {
    let of_link = |&link: &LinkId| (0..plan.protocols.len()).map(move |protocol| plan.handed_out(link, protocol));
    let of_network: Vec<f64> = routes.used.iter().flat_map(of_link).collect();
    if of_network.iter().all(|&part| part >= 1.0) {
        return Vec::new();
    }
    // The links that stand for demands follow, and have no queues.
    let of_demands = routes.demands.len() * plan.protocols.len();
    of_network.into_iter().chain(std::iter::repeat_n(1.0, of_demands)).collect()
}
