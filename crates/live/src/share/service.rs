//! The service that shares files: sockets, identity, URL and events.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anabranch_core::Rate;
use thiserror::Error;
use tokio::sync::watch;

use super::{Files, FilesError, Served, Share, serve_all};
use crate::running::Events;
use crate::security::Identity;
use crate::session::{Server, SessionError, listening};
use crate::url::Url;

/// The settings of the service.
#[derive(Debug)]
pub struct Service {
    /// Path of the directory, or of a single file.
    pub path: PathBuf,
    /// Local addresses; port 0 selects any free port.
    pub addresses: Vec<SocketAddr>,
    /// Certificate and its key.
    pub identity: Identity,
    /// Name or address in the URL, if it is not that of the first socket.
    pub host: Option<String>,
    /// The most that all connections may send together, on links; those that have something to send share it equally.
    pub most: watch::Receiver<Rate>,
}

/// An event of the service.
#[derive(Debug)]
pub enum ShareEvent {
    /// The service runs at this URL. The URL of a file contains its hash; the URL of a directory ends with a slash,
    /// which names of files follow.
    Sharing(Url),
    /// A connection has ended.
    Served(Served),
    /// The service has failed.
    Failed(ShareError),
}

/// The reason why files cannot be shared.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum ShareError {
    #[error("{path}: {error}", path = path.display())]
    Path { path: PathBuf, error: FilesError },
    #[error("cannot listen at {address}: {error}; choose another address or port by `--listen`")]
    Listen { address: SocketAddr, error: std::io::Error },
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Shares until it is dropped: reports the URL first, then each connection. A single file is read completely before its
/// URL is reported, for its hash.
pub async fn share(service: Service, events: Events<ShareEvent>) {
    if let Err(error) = run(service, &events).await {
        events.tell(ShareEvent::Failed(error));
    }
}

async fn run(service: Service, events: &Events<ShareEvent>) -> Result<(), ShareError> {
    let Service { path, addresses, identity, host, most } = service;
    let files = Files::open(&path).map_err(|error| ShareError::Path { path: path.clone(), error })?;
    let locals: Vec<_> = addresses.into_iter().map(Into::into).collect();
    let bound = Server::bind(&locals, &identity).await;
    let server = bound.map_err(|error| listening(error, |address, error| ShareError::Listen { address, error }))?;
    let address = server.address();
    let host = host.unwrap_or_else(|| address.ip().to_string());
    let name = files.only().map(ToString::to_string).unwrap_or_default();
    let url = Url { host, port: address.port(), path: name, pins: vec![identity.fingerprint()], hash: None };
    let share = Arc::new(Share::new(files, most));
    let (told, hashed) = (events.clone(), Arc::clone(&share));
    let announce = async {
        let hash = hashed.hash_of_only().await.map_err(|error| ShareError::Path { path, error })?;
        events.tell(ShareEvent::Sharing(Url { hash, ..url }));
        std::future::pending().await
    };
    // Fetchers that know the URL from before are served meanwhile.
    tokio::select! {
        failed = announce => failed,
        () = serve_all(server, share, move |served| told.tell(ShareEvent::Served(served))) => Ok(()),
    }
}
