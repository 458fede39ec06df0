//! What a proxy or an exit shows by HTTP: its lines, its flows, figures for Prometheus, and a page. Nothing can be changed.

mod metrics;
mod shown;
mod site;

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_http::Server;

pub(crate) use self::shown::{Peer, ShownLine, Shows, lines_of};
use self::site::Watched;

/// Where a program shows itself.
#[derive(Clone, Debug)]
pub struct Watching {
    /// Local address; port 0 selects any free port.
    pub address: SocketAddr,
    /// Whether other machines may reach it.
    pub is_open: bool,
    /// The page, in HTML.
    pub page: Option<Arc<str>>,
}

/// The reason why a program cannot show itself.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Other machines could reach it.
    #[error(
        "other machines can reach {0}, and would read without a password who connects to what; use 127.0.0.1, or say \
         that this is wanted by --watch-open"
    )]
    Open(SocketAddr),
    /// The kernel refuses the address.
    #[error("cannot show anything at {address}: {error}; choose another address or port by --watch")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Error of the kernel.
        error: std::io::Error,
    },
}

/// An address at which a program will show itself.
pub(crate) struct Opened {
    pub address: SocketAddr,
    server: Server,
    page: Option<Arc<str>>,
}

impl Watching {
    /// Opens the address.
    ///
    /// # Errors
    /// If others could reach it, or it cannot be used.
    pub(crate) async fn open(self) -> Result<Opened, WatchError> {
        let Self { address, is_open, page } = self;
        if !is_open && !address.ip().to_canonical().is_loopback() {
            return Err(WatchError::Open(address));
        }
        let refused = |error| WatchError::Listen { address, error };
        let server = Server::bind(address).await.map_err(refused)?;
        Ok(Opened { address: server.address().map_err(refused)?, server, page })
    }
}

/// Shows a program until it is dropped.
pub(crate) async fn show(opened: Option<Opened>, what: impl Shows) {
    if let Some(Opened { server, page, .. }) = opened {
        server.serve(Watched::new(what, page.as_deref())).await;
    }
}
