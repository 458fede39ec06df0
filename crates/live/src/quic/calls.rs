//! Calls that depend on the behaviour of the library, not on its types alone.

use std::io;
use std::sync::Arc;

use noq::crypto::rustls::HandshakeData;
use noq::{AsyncUdpSocket, Connection, ConnectionError, Endpoint, EndpointConfig, PathId, ServerConfig, TokioRuntime};

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
