//! Publish-subscribe internetworking: who wants what, by which paths, and how packets find them.
//!
//! Its three functions are apart, as in the architecture [thomas2016, sec. III-A]: [`Rendezvous`] matches
//! publications with subscriptions, [`TopologyManager`] finds paths and says which of them share links, and
//! [`forward`] follows the filters that packets carry. [`Domain`] puts the first two together. All of it is
//! mathematics of one network: nothing is sent, and no time passes.

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
