//! Connections to web servers: over a chosen interface or address, encrypted and verified where the URL says so.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::WebUrl;
use crate::security::{SecurityError, web_client};
use crate::session::{SessionError, addresses};
use crate::sockets::{Local, SocketError, resolve};

/// The longest wait for a server to accept a connection, and then to agree on its encryption.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The longest such wait while other addresses of the host have not been tried.
const ADDRESS_TIME: Duration = Duration::from_secs(4);

/// The reason why there is no connection.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum DialError {
    #[error(transparent)]
    Host(#[from] SessionError),
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Security(#[from] SecurityError),
    #[error("{address}: {error}")]
    Refused { address: SocketAddr, error: std::io::Error },
    #[error("{address} did not answer for {} s", time.as_secs())]
    Silent { address: SocketAddr, time: Duration },
    #[error("its certificate is not accepted: {0}")]
    Certificate(rustls::CertificateError),
    #[error("no encryption: {0}")]
    Tls(std::io::Error),
    #[error("`{0}` cannot be the name of a certificate")]
    Name(String),
}

impl DialError {
    /// Whether another attempt may succeed.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Host(_) | Self::Refused { .. } | Self::Silent { .. } | Self::Tls(_) => true,
            // An interface may get an address later.
            Self::Socket(error) => matches!(error, SocketError::NoAddress { .. } | SocketError::Refused { .. }),
            Self::Security(_) | Self::Certificate(_) | Self::Name(_) => false,
        }
    }
}

/// Encryption towards all servers, with the authorities that sign their certificates.
#[derive(Clone)]
pub struct Tls(TlsConnector);

impl Tls {
    /// Trusts the authorities of this system, and those in a PEM file if one is given; `None` if there are none, so that
    /// only servers without encryption can be used.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn trusting(authorities: Option<&Path>) -> Result<Option<Self>, SecurityError> {
        match web_client(authorities) {
            Ok(client) => Ok(Some(Self(TlsConnector::from(Arc::new(client))))),
            Err(SecurityError::NobodyTrusted) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A byte stream to a server.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A stream to a server, and its addresses.
pub struct Dialed {
    pub stream: Box<dyn Stream>,
    /// Address of this end.
    pub local: IpAddr,
    /// Address of the server.
    pub remote: SocketAddr,
    /// Time that the server took to accept the connection: about a round trip.
    pub round_trip: Duration,
}

/// A way to servers: by an interface or address of this machine, or as the system chooses.
#[derive(Clone)]
pub struct Dialer {
    /// Interface or local address.
    pub via: Option<String>,
    /// Encryption, once a URL needs it.
    pub tls: Option<Tls>,
}

impl Dialer {
    /// Connects to the server of a URL; the addresses of its host are tried in the order of the resolver.
    ///
    /// # Errors
    /// If there is no address, none accepts a connection, or the server cannot be verified.
    pub async fn dial(&self, url: &WebUrl) -> Result<Dialed, DialError> {
        let remotes = addresses(&url.host, url.port).await?;
        let mut failed = None;
        for (tried, &remote) in remotes.iter().enumerate() {
            let time = if tried + 1 < remotes.len() { ADDRESS_TIME } else { CONNECT_TIME };
            match self.reach(remote, time).await {
                Ok(dialed) => return self.encrypt(url, dialed).await,
                // The first reason is usually that of the address that the system prefers.
                Err(error) => failed = Some(failed.unwrap_or(error)),
            }
        }
        Err(failed.expect("a host has an address"))
    }

    /// Connects to an address.
    async fn reach(&self, remote: SocketAddr, time: Duration) -> Result<Dialed, DialError> {
        let local = resolve(self.via.as_slice(), remote)?.remove(0);
        let address = local.peer.map_or(remote, |peer| SocketAddr::new(peer, remote.port()));
        let begin = Instant::now();
        let refused = |error| DialError::Refused { address, error };
        let connecting = async { socket(&local)?.connect(address).await };
        let stream: TcpStream =
            timeout(time, connecting).await.map_err(|_| DialError::Silent { address, time })?.map_err(refused)?;
        let round_trip = begin.elapsed();
        stream.set_nodelay(true).map_err(refused)?;
        let local = stream.local_addr().map_err(refused)?.ip();
        Ok(Dialed { stream: Box::new(stream), local, remote: address, round_trip })
    }

    /// Encrypts a stream, if the URL says so.
    async fn encrypt(&self, url: &WebUrl, dialed: Dialed) -> Result<Dialed, DialError> {
        if !url.is_https {
            return Ok(dialed);
        }
        let tls = self.tls.as_ref().ok_or(SecurityError::NobodyTrusted)?;
        let name = ServerName::try_from(url.host.clone()).map_err(|_| DialError::Name(url.host.clone()))?;
        let silent = |_| DialError::Silent { address: dialed.remote, time: CONNECT_TIME };
        let stream = timeout(CONNECT_TIME, tls.0.connect(name, dialed.stream)).await.map_err(silent)?.map_err(plain)?;
        Ok(Dialed { stream: Box::new(stream), ..dialed })
    }
}

/// The error of a failed handshake.
fn plain(error: std::io::Error) -> DialError {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(certificate)) => DialError::Certificate(certificate.clone()),
        _ => DialError::Tls(error),
    }
}

/// A socket that is bound to the local address and, if one is given, to the interface.
fn socket(local: &Local) -> std::io::Result<TcpSocket> {
    let socket = Socket::new(Domain::for_address(local.address), Type::STREAM, Some(Protocol::TCP))?;
    local.bind_device(&socket)?;
    socket.set_nonblocking(true)?;
    if !local.address.ip().is_unspecified() {
        socket.bind(&local.address.into())?;
    }
    Ok(TcpSocket::from_std_stream(socket.into()))
}
