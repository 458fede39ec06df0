//! Calls that depend on the behaviour of the library, not on its types alone.

use std::io;
use std::sync::Arc;

use noq::crypto::rustls::HandshakeData;
use noq::{AsyncUdpSocket, Connection, ConnectionError, Endpoint, EndpointConfig, PathId, ServerConfig, TokioRuntime};
use rustls::pki_types::CertificateDer;

/// Creates an endpoint on a socket, in the tokio runtime of the caller; with a server's configuration it accepts
/// connections.
pub(crate) fn endpoint(socket: impl AsyncUdpSocket, config: Option<ServerConfig>) -> io::Result<Endpoint> {
    let runtime = Arc::new(TokioRuntime);
    Endpoint::new_with_abstract_socket(EndpointConfig::default(), config, Box::new(socket), runtime)
}

/// The number of a path, which is the same at both ends. The library provides it as text only.
pub fn path_number(path: PathId) -> Option<u32> {
    path.to_string().parse().ok()
}

/// A copy of the controller of a path; `None` if the path is gone or its controller is of another type.
pub(crate) fn controller<C: 'static>(connection: &Connection, path: PathId) -> Option<C> {
    connection.congestion_state(path)?.into_any().downcast().ok().map(|controller| *controller)
}

/// The name of the protocol that both ends have agreed on; `None` before that.
pub(crate) fn protocol(connection: &Connection) -> Option<Vec<u8>> {
    connection.handshake_data()?.downcast::<HandshakeData>().ok()?.protocol
}

/// Makes both ends renew their keys now, while there are hardly any paths besides the first.
///
/// By default the library renews keys after 10 to 1000 packets, and decides by packet numbers which keys a packet has,
/// even by the numbers of another path. So it takes some packets in flight for forged, and a path loses them all at
/// once, most likely in slow start. After this call, keys last for millions of packets, and each renewal costs a path
/// at most its packets in flight.
pub(crate) fn renew_keys(connection: &Connection) {
    connection.force_key_update();
    // The other end detects the new keys with the next packet.
    let _ = connection.path(PathId::ZERO).map(|path| path.ping());
}

/// The reason of a failed handshake. Problems of certificates are described without the terms of the protocols around
/// them.
pub(crate) fn plain_reason(reason: &ConnectionError) -> String {
    match reason {
        ConnectionError::TransportError(error) if error.crypto.is_some() && !error.reason.is_empty() => {
            error.reason.trim_start_matches("unexpected error: ").to_owned()
        }
        other => other.to_string(),
    }
}

/// The certificate that the peer has shown, if it has.
pub(crate) fn peer_certificate(connection: &Connection) -> Option<CertificateDer<'static>> {
    let chain: Box<Vec<CertificateDer<'static>>> = connection.peer_identity()?.downcast().ok()?;
    chain.into_iter().next()
}

/// How a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// This end has closed it.
    Local,
    /// It was silent for too long.
    Idle,
    /// The peer does not know it.
    Reset,
    /// There is no common version.
    Version,
    /// The program of the peer has closed it.
    Application {
        /// Code of the program.
        code: u64,
        /// Reason for readers.
        reason: String,
    },
    /// It has failed, at this end or at the peer.
    Transport {
        /// Whether this end has found the fault.
        is_local: bool,
        /// Code of QUIC.
        code: u64,
        /// Reason for readers.
        reason: String,
    },
}

/// How a connection has ended, by its error.
pub(crate) fn connection_end(error: &ConnectionError) -> ConnectionEnd {
    let read = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match error {
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => ConnectionEnd::Local,
        ConnectionError::TimedOut => ConnectionEnd::Idle,
        ConnectionError::Reset => ConnectionEnd::Reset,
        ConnectionError::VersionMismatch => ConnectionEnd::Version,
        ConnectionError::ApplicationClosed(close) => {
            ConnectionEnd::Application { code: close.error_code.into_inner(), reason: read(&close.reason) }
        }
        ConnectionError::ConnectionClosed(close) => {
            ConnectionEnd::Transport { is_local: false, code: close.error_code.into(), reason: read(&close.reason) }
        }
        ConnectionError::TransportError(error) => {
            ConnectionEnd::Transport { is_local: true, code: error.code.into(), reason: error.reason.clone() }
        }
    }
}

/// Why the peer does not take the certificate of this end; `None` if a connection has ended for another reason.
///
/// A server judges the certificate of a client when the handshake is over for the client, so the connection opens first, and
/// ends with an alert of TLS [rfc8446, sec. 6.2] in the code [rfc9001, sec. 4.8].
pub fn certificate_refused(error: &ConnectionError) -> Option<String> {
    let ConnectionEnd::Transport { is_local: false, code, reason: said } = connection_end(error) else { return None };
    let why = match code.checked_sub(CRYPTO)? {
        43 => "it is not one for clients of TLS",
        44 => "it was revoked",
        45 if said.contains("not valid yet") => "it is not valid yet",
        45 => "it has expired",
        48 => "none of the authorities that are trusted there has signed it",
        49 => "it is not one of those that are known there",
        51 => "a signature is not that of its authority, or of its key",
        42 | 46 => return Some(format!("it cannot be used there: {said}")),
        _ => return None,
    };
    Some(why.to_owned())
}

/// The code of a connection that ends with alert 0 of TLS.
const CRYPTO: u64 = 0x100;
