//! Calls that depend on how the library behaves, and not on its types alone.

use std::io;
use std::sync::Arc;

use noq::{AsyncUdpSocket, Connection, ConnectionError, Endpoint, EndpointConfig, PathId, ServerConfig, TokioRuntime};

/// An endpoint on a socket, in the tokio runtime of the caller; with a server's configuration it takes connections.
pub(crate) fn endpoint(socket: impl AsyncUdpSocket, config: Option<ServerConfig>) -> io::Result<Endpoint> {
    let runtime = Arc::new(TokioRuntime);
    Endpoint::new_with_abstract_socket(EndpointConfig::default(), config, Box::new(socket), runtime)
}

/// The number of a path, which is the same at both ends. The library gives it as text only.
pub fn path_number(path: PathId) -> Option<u32> {
    path.to_string().parse().ok()
}

/// A copy of the controller of a path; `None` if the path is gone or its controller is of another type.
pub(crate) fn controller<C: 'static>(connection: &Connection, path: PathId) -> Option<C> {
    connection.congestion_state(path)?.into_any().downcast().ok().map(|controller| *controller)
}

/// Makes both ends take new keys now, while there is one path or hardly more.
///
/// By itself the library takes new keys after 10 to 1000 packets, and tells by packet numbers which packet is encrypted with
/// which keys, also by the numbers of another path. So it takes some packets that are under way for forged, and a path loses
/// them all at once, most likely in slow start. After this call, keys last for millions of packets, and each renewal costs a
/// path at most what is under way on it.
pub(crate) fn renew_keys(connection: &Connection) {
    connection.force_key_update();
    // The other end sees the new keys with the next packet.
    let _ = connection.path(PathId::ZERO).map(|path| path.ping());
}

/// Why a handshake failed. What is wrong with a certificate is said without the words of the protocols around it.
pub(crate) fn plain_reason(reason: &ConnectionError) -> String {
    match reason {
        ConnectionError::TransportError(error) if error.crypto.is_some() && !error.reason.is_empty() => {
            error.reason.trim_start_matches("unexpected error: ").to_owned()
        }
        other => other.to_string(),
    }
}
