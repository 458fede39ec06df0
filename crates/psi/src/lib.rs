//! Publish-subscribe internetworking: the matching of publishers and subscribers, their paths, and forwarding.
//!
//! Its three functions are separate, as in the architecture [thomas2016, sec. III-A]. [`Rendezvous`] matches
//! publications with subscriptions. [`TopologyManager`] finds paths and determines which of them share links.
//! [`forward`] follows the filters that packets carry. [`Domain`] combines the first two. The crate is the mathematics
//! of one network: it sends nothing, and has no clock.

pub mod bits;
pub mod domain;
pub mod filter;
pub mod forward;
pub mod identities;
pub mod rendezvous;
mod selection;
pub mod topology_manager;

pub use bits::Bits;
pub use domain::{Domain, DomainError};
pub use filter::{Filter, MOST_HOPS, Refusal, adjacent, expected_fill, expected_strays, false_positive_rate};
pub use forward::{Branch, Hop, Journey, forward};
pub use identities::{Identities, IdentityError, IdentityParameters, Ones};
pub use rendezvous::{Identifier, PathOrder, Rendezvous, RendezvousError};
pub use selection::filter_of;
pub use topology_manager::{PathId, PathRecord, RequestId, TopologyError, TopologyManager};
