//! Typed indices, so that a node is never mistaken for a link.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of the element at `index`.
            ///
            /// # Panics
            /// If `index` does not fit in 32 bits; the builders refuse networks of that size earlier.
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("fewer than 2^32 elements"))
            }

            /// Index of the element in its array.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A vertex of the network.
    NodeId
);
id!(
    /// A directed link.
    LinkId
);
id!(
    /// A pair of nodes with a demand and its paths.
    ConnectionId
);
