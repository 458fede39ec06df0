//! `[assistance]`: information that the network gives senders.

use anabranch_core::paths::Sharing;
use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// `[assistance]`: a topology manager knows the network. It tells connections which of their paths share links and, if
/// it watches links, which links have failed. A rendezvous node tells it which target wants data from which sources
/// [thomas2016, sec. III, IV-A].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AssistanceTable {
    /// Condition under which two paths of a connection belong to one group.
    pub sharing: SharingChoice,
    /// Links by name that do not count as shared, such as an access link that is known to be no bottleneck.
    #[schemars(with = "Vec<String>")]
    pub without: Option<Spanned<Vec<String>>>,
    /// Delay between a failure or repair of a link and the reaction of connections. A link fails when its capacity
    /// becomes 0; then connections leave the paths over it, there or back, and return after a repair. They know initial
    /// failures at once. Without this key no connection is informed.
    pub failures_after: Option<SpanText>,
    /// Node of the rendezvous function. A target with `sources` sends its subscription to this node first, and begins
    /// when the manager has answered. Requires `manager`.
    #[schemars(with = "Option<String>")]
    pub rendezvous: Option<Spanned<String>>,
    /// Node of the topology manager. Requires `rendezvous`.
    #[schemars(with = "Option<String>")]
    pub manager: Option<Spanned<String>>,
}

/// Condition under which two paths belong to one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SharingChoice {
    /// The paths share a link, directly or through other paths.
    #[default]
    Links,
    /// The paths share a link, or a node between their ends.
    Nodes,
}

impl From<SharingChoice> for Sharing {
    fn from(choice: SharingChoice) -> Self {
        match choice {
            SharingChoice::Links => Self::Links,
            SharingChoice::Nodes => Self::Nodes,
        }
    }
}
