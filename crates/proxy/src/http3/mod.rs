//! HTTP/3 over connections with several paths [rfc9114].

mod adapter;
mod protocol;

use std::time::Duration;

use anabranch_live::quic::Connection;
use bytes::Bytes;
use h3::ext::Protocol;

pub(crate) use self::adapter::{Adapter, BidiStream, Budget, Opener, Receiver, Sender, close, read};

/// The name of HTTP/3 in the handshake.
pub(crate) const ALPN: &[u8] = b"h3";

/// What stands for `connect-ip` within the HTTP/3 library; on the wire it has its own name.
pub(crate) const CONNECT_IP: Protocol = Protocol::WEB_TRANSPORT;

/// Greatest size of the header of a request or an answer, in bytes as HTTP/3 counts them.
const MOST_HEADER: u64 = 16 << 10;

/// The longest wait for the first messages of a peer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The requests that a server receives on a connection.
pub(crate) type Requests = h3::server::Connection<Adapter, Bytes>;

/// Sends requests on a connection.
pub(crate) type Asking = h3::client::SendRequest<Opener, Bytes>;

/// Keeps a client's side of a connection.
pub(crate) type Keeping = h3::client::Connection<Adapter, Bytes>;

/// Begins HTTP/3 as a server.
///
/// # Errors
/// If the connection ends, or the peer does not begin in time.
pub(crate) async fn serve(connection: Connection, budget: Budget) -> Result<Requests, String> {
    let mut builder = h3::server::builder();
    builder.max_field_section_size(MOST_HEADER).enable_extended_connect(true).enable_datagram(true);
    timely(builder.build(Adapter::new(connection, budget))).await
}

/// Begins HTTP/3 as a client.
///
/// # Errors
/// If the connection ends, or the peer does not begin in time.
pub(crate) async fn ask(connection: Connection) -> Result<(Keeping, Asking), String> {
    let mut builder = h3::client::builder();
    builder.max_field_section_size(MOST_HEADER).enable_extended_connect(true).enable_datagram(true);
    timely(builder.build(Adapter::new(connection, Budget::unbounded()))).await
}

async fn timely<T>(work: impl Future<Output = Result<T, h3::error::ConnectionError>>) -> Result<T, String> {
    let done = tokio::time::timeout(PATIENCE, work).await.map_err(|_| "the peer is silent".to_owned())?;
    done.map_err(|error| error.to_string())
}
