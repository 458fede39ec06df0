//! A stream of HTTP/3 joined to a connection of TCP: bytes, ends and failures pass in both directions.

use std::iter::Sum;
use std::ops::Add;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anabranch_live::quic::{Connection, VarInt};
use bytes::{Buf, Bytes, BytesMut};
use h3::error::{Code, StreamError};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http3::{Receiver, Sender, close, read};
use crate::ledger::Counter;
use crate::meter::metered;

/// The most bytes that are read from a connection at a time.
const PIECE: usize = 32 << 10;

/// Silence after which a peer is asked whether it is still there.
const SILENCE: Duration = Duration::from_mins(1);

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

/// A stream that is read until its end.
pub(crate) struct Receiving<S> {
    stream: S,
    is_over: bool,
}

impl<S> Receiving<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, is_over: false }
    }
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

        impl Receives for Receiving<h3::$side::RequestStream<Receiver, Bytes>> {
            async fn receive(&mut self) -> Result<Option<impl Buf + Send>, StreamError> {
                let Self { stream, is_over } = self;
                std::future::poll_fn(|context| read(is_over, || stream.poll_recv_data(context))).await
            }

            fn stop(&mut self) {
                self.stream.stop_sending(Code::H3_CONNECT_ERROR);
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

impl Add for Carried {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            into_stream: self.into_stream + other.into_stream,
            out_of_stream: self.out_of_stream + other.out_of_stream,
        }
    }
}

impl Sum for Carried {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// Carries bytes between a connection of TCP and a stream until both directions have ended, one has failed, or the
/// connection of the stream has closed. A connection that failed resets the stream, and the other way round, so that neither
/// end takes what it has for the whole.
pub(crate) async fn join(
    tcp: TcpStream,
    (sends, receives): (impl Sends, impl Receives),
    quic: &Connection,
    counter: &Counter,
) {
    keep_alive(&tcp);
    let (mut reader, mut writer) = tcp.into_split();
    let closed = async { _ = quic.closed().await };
    let has_failed = carry((&mut reader, &mut writer), (sends, receives), closed, counter).await;
    if has_failed && let Ok(tcp) = reader.reunite(writer) {
        // With no time to linger the connection is reset. An error shows that it is gone already.
        let _ = tcp.set_zero_linger();
    }
}

/// Has the kernel ask a silent peer whether it is still there.
pub(crate) fn keep_alive(tcp: &TcpStream) {
    let asking = TcpKeepalive::new().with_time(SILENCE).with_interval(SILENCE / 4);
    // A socket that cannot has other ends.
    let _ = SockRef::from(tcp).set_tcp_keepalive(&asking);
}

/// Carries bytes in both directions, or until all is broken; whether one has failed. A direction that has not ended then is
/// reset.
pub(crate) async fn carry(
    (reader, writer): (&mut (impl AsyncRead + Unpin), &mut (impl AsyncWrite + Unpin)),
    (mut sends, mut receives): (impl Sends, impl Receives),
    broken: impl Future<Output = ()>,
    counter: &Counter,
) -> bool {
    let (mut has_sent, mut has_received) = (false, false);
    let outcome = {
        let into = async {
            carry_in(reader, &mut sends, counter).await?;
            has_sent = true;
            Ok(())
        };
        let out = async {
            carry_out(&mut receives, writer, counter).await?;
            has_received = true;
            Ok(())
        };
        let both = async { tokio::try_join!(into, out).map(|_| ()) };
        tokio::select! {
            outcome = both => outcome,
            () = broken => Err(()),
        }
    };
    if outcome.is_err() {
        if !has_sent {
            sends.reset();
        }
        if !has_received {
            receives.stop();
        }
    }
    outcome.is_err()
}

async fn carry_in(reader: &mut (impl AsyncRead + Unpin), sends: &mut impl Sends, counter: &Counter) -> Result<(), ()> {
    let mut piece = BytesMut::new();
    loop {
        piece.reserve(PIECE);
        let read = reader.read_buf(&mut piece).await.map_err(|_| ())?;
        if read == 0 {
            return sends.finish().await.map_err(|_| ());
        }
        counter.into_stream.fetch_add(read as u64, Ordering::Relaxed);
        let mut bytes = piece.split().freeze();
        while !bytes.is_empty() {
            let piece = metered(&mut bytes, [counter.limits.receiving(), None]).await.map_err(|_| ())?;
            sends.send(piece).await.map_err(|_| ())?;
        }
    }
}

async fn carry_out(
    receives: &mut impl Receives,
    writer: &mut (impl AsyncWrite + Unpin),
    counter: &Counter,
) -> Result<(), ()> {
    while let Some(mut came) = receives.receive().await.map_err(|_| ())? {
        let mut bytes = came.copy_to_bytes(came.remaining());
        counter.out_of_stream.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        while !bytes.is_empty() {
            let mut piece = metered(&mut bytes, [counter.limits.sending(), None]).await.map_err(|_| ())?;
            writer.write_all_buf(&mut piece).await.map_err(|_| ())?;
        }
    }
    writer.shutdown().await.map_err(|_| ())
}

/// Ends a connection as it should end, when it is dropped.
pub(crate) struct Leaving(pub Connection);

impl Drop for Leaving {
    fn drop(&mut self) {
        close(&self.0, no_error(), b"");
    }
}

/// The code of a connection that ends as it should.
fn no_error() -> VarInt {
    VarInt::from_u64(Code::H3_NO_ERROR.value()).unwrap_or(VarInt::MAX)
}
