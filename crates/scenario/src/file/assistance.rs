//! `[assistance]`: what the network tells those that send.

use anabranch_core::paths::Sharing;
use anabranch_core::quantity::SpanText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// `[assistance]`: a topology manager knows the network, and tells connections which of their paths share links and, if it
/// watches links, which have failed; a rendezvous node tells it who wants what of whom [thomas2016, sec. III, IV-A].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AssistanceTable {
    /// What two paths of a connection must share to be of one group.
    pub sharing: SharingChoice,
    /// Links by name that count as shared by nobody, such as an access link that is known to be no bottleneck.
    #[schemars(with = "Vec<String>")]
    pub without: Option<Spanned<Vec<String>>>,
    /// So long after the capacity of a link has become 0, or is so no longer, connections leave the paths over it, there or
    /// back, or take them up again; what is 0 from the beginning they know. If left out nobody tells them.
    pub failures_after: Option<SpanText>,
    /// The node of the rendezvous function: what a target asks `sources` for it asks this node for first, and begins when
    /// the manager has answered. Of it and `manager` both are given or none.
    #[schemars(with = "Option<String>")]
    pub rendezvous: Option<Spanned<String>>,
    /// The node of the topology manager.
    #[schemars(with = "Option<String>")]
    pub manager: Option<Spanned<String>>,
}

/// What two paths must share to be of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SharingChoice {
    /// A link, directly or by way of others.
    #[default]
    Links,
    /// A link, or a node between their ends.
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
