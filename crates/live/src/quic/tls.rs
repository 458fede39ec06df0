//! The TLS of both ends.

pub use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
