//! The TLS settings of both ends, from the library.

pub use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
