//! A stream of HTTP/3 joined to a connection of TCP: bytes, ends and failures pass in both directions.

use anabranch_live::quic::VarInt;
use bytes::{Buf, Bytes, BytesMut};
use h3::error::{Code, StreamError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http3::{Receiver, Sender};

/// The most bytes that are read from a connection at a time.
const PIECE: usize = 32 << 10;

/// The side of a stream that sends.
pub(crate) trait Sends {
    fn send(&mut self, bytes: Bytes) -> impl Future<Output = Result<(), StreamError>> + Send;
    fn finish(&mut self) -> impl Future<Output = Result<(), StreamError>> + Send;
    fn reset(&mut self);
}

/// The side of a stream that receives.
pub(crate) trait Receives {
    /// The next bytes; none at the end.
    fn receive(&mut self) -> impl Future<Output = Result<Option<impl Buf + Send>, StreamError>> + Send;
    fn stop(&mut self);
}

macro_rules! streams {
    ($side:ident) => {
        impl Sends for h3::$side::RequestStream<Sender<Bytes>, Bytes> {
            async fn send(&mut self, bytes: Bytes) -> Result<(), StreamError> {
                self.send_data(bytes).await
            }

            async fn finish(&mut self) -> Result<(), StreamError> {
                self.finish().await
            }

            fn reset(&mut self) {
                self.stop_stream(Code::H3_CONNECT_ERROR);
            }
        }

        impl Receives for h3::$side::RequestStream<Receiver, Bytes> {
            async fn receive(&mut self) -> Result<Option<impl Buf + Send>, StreamError> {
                self.recv_data().await
            }

            fn stop(&mut self) {
                self.stop_sending(Code::H3_CONNECT_ERROR);
            }
        }
    };
}

streams!(client);
streams!(server);

/// Bytes that a tunnel has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// From the connection into the stream.
    pub into_stream: u64,
    /// From the stream into the connection.
    pub out_of_stream: u64,
}

/// Carries bytes between a connection of TCP and a stream until both directions have ended, or one has failed. A connection
/// that failed resets the stream, and the other way round, so that neither end takes what it has for the whole.
pub(crate) async fn join(tcp: TcpStream, sends: impl Sends, receives: impl Receives) -> Carried {
    let (mut reader, mut writer) = tcp.into_split();
    let (carried, has_failed) = carry(&mut reader, &mut writer, sends, receives).await;
    if has_failed && let Ok(tcp) = reader.reunite(writer) {
        // With no time to linger the connection is reset. An error shows that it is gone already.
        let _ = tcp.set_zero_linger();
    }
    carried
}

/// Carries bytes in both directions; also whether one has failed, which has reset the stream then.
pub(crate) async fn carry(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    mut sends: impl Sends,
    mut receives: impl Receives,
) -> (Carried, bool) {
    let mut carried = Carried::default();
    let outcome = {
        let into = carry_in(reader, &mut sends, &mut carried.into_stream);
        let out = carry_out(&mut receives, writer, &mut carried.out_of_stream);
        tokio::try_join!(into, out)
    };
    if outcome.is_err() {
        sends.reset();
        receives.stop();
    }
    (carried, outcome.is_err())
}

async fn carry_in(reader: &mut (impl AsyncRead + Unpin), sends: &mut impl Sends, count: &mut u64) -> Result<(), ()> {
    let mut piece = BytesMut::new();
    loop {
        piece.reserve(PIECE);
        let read = reader.read_buf(&mut piece).await.map_err(|_| ())?;
        if read == 0 {
            return sends.finish().await.map_err(|_| ());
        }
        *count += read as u64;
        sends.send(piece.split().freeze()).await.map_err(|_| ())?;
    }
}

async fn carry_out(
    receives: &mut impl Receives,
    writer: &mut (impl AsyncWrite + Unpin),
    count: &mut u64,
) -> Result<(), ()> {
    while let Some(mut bytes) = receives.receive().await.map_err(|_| ())? {
        *count += bytes.remaining() as u64;
        writer.write_all_buf(&mut bytes).await.map_err(|_| ())?;
    }
    writer.shutdown().await.map_err(|_| ())
}

/// The code with which connections end that nobody needs any more.
pub(crate) fn no_error() -> VarInt {
    VarInt::from_u64(Code::H3_NO_ERROR.value()).unwrap_or(VarInt::MAX)
}
