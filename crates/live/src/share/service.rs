//! Files, shared from beginning to end: sockets, identity, URL, and what to say of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use super::{Files, FilesError, Served, Share, serve_all};
use crate::running::Events;
use crate::security::Identity;
use crate::session::{Server, SessionError};
use crate::url::Url;

/// What is to be shared, where and as whom.
#[derive(Debug)]
pub struct Service {
    /// The directory, or a file that is to be shared alone.
    pub path: PathBuf,
    /// The local addresses; port 0 is any that is free.
    pub addresses: Vec<SocketAddr>,
    /// The certificate and its key.
    pub identity: Identity,
    /// The name or address that the URL is to show, if not that of the first socket.
    pub host: Option<String>,
}

/// What has happened.
#[derive(Debug)]
pub enum ShareEvent {
    /// At this URL. That of a file has its hash; where it is a directory that is shared, names of files go after its slash.
    Sharing(Url),
    /// A connection has ended.
    Served(Served),
    /// It cannot be shared.
    Failed(ShareError),
}

/// Why something cannot be shared.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum ShareError {
    #[error("{path}: {error}", path = path.display())]
    Path { path: PathBuf, error: FilesError },
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Shares until it is dropped: tells the URL first, then of each connection. A file that is shared alone is read whole before
/// its URL is told, for its hash.
pub async fn share(service: Service, events: Events<ShareEvent>) {
    if let Err(error) = run(service, &events).await {
        events.tell(ShareEvent::Failed(error));
    }
}

async fn run(service: Service, events: &Events<ShareEvent>) -> Result<(), ShareError> {
    let Service { path, addresses, identity, host } = service;
    let files = Files::open(&path).map_err(|error| ShareError::Path { path: path.clone(), error })?;
    let locals: Vec<_> = addresses.into_iter().map(Into::into).collect();
    let server = Server::bind(&locals, &identity).await?;
    let address = server.address();
    let host = host.unwrap_or_else(|| address.ip().to_string());
    let name = files.only().map(ToString::to_string).unwrap_or_default();
    let url = Url { host, port: address.port(), path: name, pins: vec![identity.fingerprint()], hash: None };
    let share = Arc::new(Share::new(files));
    let (told, hashed) = (events.clone(), Arc::clone(&share));
    let announce = async {
        let hash = hashed.hash_of_only().await.map_err(|error| ShareError::Path { path, error })?;
        events.tell(ShareEvent::Sharing(Url { hash, ..url }));
        std::future::pending().await
    };
    // Those who know the URL from before are served meanwhile.
    tokio::select! {
        failed = announce => failed,
        () = serve_all(server, share, move |served| told.tell(ShareEvent::Served(served))) => Ok(()),
    }
}
