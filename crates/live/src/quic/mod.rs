//! QUIC over several paths, as the rest of this crate uses it; only this folder names the library.
//!
//! The library is noq. This crate depends on its behaviour beyond its documentation: when it calls a controller and
//! with what, how it numbers packets, when it renews keys. Each such claim is a test in `tests/noq_contract.rs`;
//! another version of the library is suitable when these tests pass.

mod calls;
pub mod congestion;
pub mod tls;
pub mod udp;

pub(crate) use noq::{
    AckFrequencyConfig, ClientConfig, Endpoint, FourTuple, IdleTimeout, Incoming, PathError, PathEvent, PathStatus,
    ServerConfig, TransportConfig,
};
pub use noq::{
    ConnectError, Connection, ConnectionError, Path, PathId, PathStats, ReadError, ReadExactError, RecvStream,
    SendDatagramError, SendStream, UdpStats, VarInt, WriteError,
};

pub(crate) use self::calls::{
    ConnectionEnd, connection_end, controller, endpoint, peer_certificate, plain_reason, protocol, renew_keys,
};
pub use self::calls::{certificate_refused, path_number};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// All Rust files below a folder.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
        entries.flat_map(below).filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
    }

    #[test]
    fn the_library_is_named_in_this_folder_and_in_its_contract_only() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let is_allowed = |path: &&PathBuf| {
            ["src/quic", "tests/noq_contract"].iter().any(|folder| path.starts_with(root.join(folder)))
        };
        let all = [sources(&root.join("src")), sources(&root.join("tests"))].concat();
        let (allowed, others): (Vec<_>, Vec<_>) = all.iter().partition(is_allowed);
        let names = |path: &&PathBuf| fs::read_to_string(path).unwrap().to_lowercase().contains("noq");
        assert!(allowed.iter().any(names) && others.len() > 50, "the search finds what there is");
        let wrong: Vec<_> = others.into_iter().filter(names).collect();
        assert!(wrong.is_empty(), "use crate::quic, and write `the QUIC library` in comments: {wrong:?}");
    }
}
