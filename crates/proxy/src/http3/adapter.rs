//! Connections of the QUIC library, as the HTTP/3 library uses them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use anabranch_live::quic::{self, Connection, ConnectionError, ReadError, VarInt, WriteError};
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self as traits, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};

/// The most bytes that are read from a stream at a time: a large piece takes few calls to send on.
const PIECE: usize = 32 << 10;

/// Something that a connection is waiting for.
type Waiting<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>;

/// Both directions of a stream.
type Both = (quic::SendStream, quic::RecvStream);

/// A connection.
pub(crate) struct Adapter {
    opener: Opener,
    both: Option<Waiting<Both>>,
    one: Option<Waiting<quic::RecvStream>>,
}

impl Adapter {
    pub fn new(connection: Connection) -> Self {
        Self { opener: Opener { connection, both: None, one: None }, both: None, one: None }
    }
}

/// Waits for something, and begins to if nobody waits for it yet.
fn wait<T>(
    waiting: &mut Option<Waiting<T>>,
    context: &mut Context<'_>,
    begin: impl FnOnce() -> Waiting<T>,
) -> Poll<Result<T, ConnectionErrorIncoming>> {
    let outcome = ready!(waiting.get_or_insert_with(begin).as_mut().poll(context));
    *waiting = None;
    Poll::Ready(outcome.map_err(ended))
}

/// Why the connection ended.
fn ended(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(closed) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: closed.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn of_connection(connection_error: ConnectionErrorIncoming) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error }
}

fn reading(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        ReadError::ConnectionLost(error) => of_connection(ended(error)),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn writing(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        WriteError::ConnectionLost(error) => of_connection(ended(error)),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

fn number(id: impl Into<u64>) -> StreamId {
    StreamId::try_from(id.into()).expect("QUIC numbers streams as HTTP/3 does")
}

impl<B: Buf> traits::Connection<B> for Adapter {
    type RecvStream = Receiver;
    type OpenStreams = Opener;

    fn poll_accept_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Receiver, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let begin = || -> Waiting<_> {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_uni().await })
        };
        wait(&mut self.one, cx, begin).map_ok(Receiver::new)
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let begin = || -> Waiting<_> {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_bi().await })
        };
        wait(&mut self.both, cx, begin).map_ok(BidiStream::new)
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}

impl<B: Buf> traits::OpenStreams<B> for Adapter {
    type BidiStream = BidiStream<B>;
    type SendStream = Sender<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sender<B>, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        traits::OpenStreams::<B>::close(&mut self.opener, code, reason);
    }
}

/// Opens streams of a connection.
pub(crate) struct Opener {
    connection: Connection,
    both: Option<Waiting<Both>>,
    one: Option<Waiting<quic::SendStream>>,
}

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self { connection: self.connection.clone(), both: None, one: None }
    }
}

impl<B: Buf> traits::OpenStreams<B> for Opener {
    type BidiStream = BidiStream<B>;
    type SendStream = Sender<B>;

    fn poll_open_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        let connection = &self.connection;
        let begin = || -> Waiting<_> {
            let connection = connection.clone();
            Box::pin(async move { connection.open_bi().await })
        };
        wait(&mut self.both, cx, begin).map_ok(BidiStream::new).map_err(of_connection)
    }

    fn poll_open_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<Sender<B>, StreamErrorIncoming>> {
        let connection = &self.connection;
        let begin = || -> Waiting<_> {
            let connection = connection.clone();
            Box::pin(async move { connection.open_uni().await })
        };
        wait(&mut self.one, cx, begin).map_ok(Sender::new).map_err(of_connection)
    }

    fn close(&mut self, reason: Code, text: &[u8]) {
        self.connection.close(code(reason.value()), text);
    }
}

/// A stream in both directions.
pub(crate) struct BidiStream<B: Buf> {
    sender: Sender<B>,
    receiver: Receiver,
}

impl<B: Buf> BidiStream<B> {
    fn new((sender, receiver): Both) -> Self {
        Self { sender: Sender::new(sender), receiver: Receiver::new(receiver) }
    }
}

impl<B: Buf> traits::BidiStream<B> for BidiStream<B> {
    type SendStream = Sender<B>;
    type RecvStream = Receiver;

    fn split(self) -> (Sender<B>, Receiver) {
        (self.sender, self.receiver)
    }
}

impl<B: Buf> traits::RecvStream for BidiStream<B> {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.receiver.poll_data(cx)
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.receiver.stop_sending(error_code);
    }

    fn recv_id(&self) -> StreamId {
        self.receiver.recv_id()
    }
}

impl<B: Buf> traits::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sender.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.sender.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.sender.poll_finish(cx)
    }

    fn reset(&mut self, reset_code: u64) {
        self.sender.reset(reset_code);
    }

    fn send_id(&self) -> StreamId {
        self.sender.send_id()
    }
}

/// The receiving side of a stream.
pub(crate) struct Receiver {
    stream: quic::RecvStream,
    piece: Box<[u8]>,
}

impl Receiver {
    fn new(stream: quic::RecvStream) -> Self {
        Self { stream, piece: Box::default() }
    }
}

impl traits::RecvStream for Receiver {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        if self.piece.is_empty() {
            self.piece = vec![0; PIECE].into_boxed_slice();
        }
        let read = ready!(self.stream.poll_read(cx, &mut self.piece)).map_err(reading)?;
        // Nothing read into a piece with room is the end of the stream.
        Poll::Ready(Ok((read > 0).then(|| Bytes::copy_from_slice(&self.piece[..read]))))
    }

    fn stop_sending(&mut self, error_code: u64) {
        // A stream that is over has nobody to tell.
        let _ = self.stream.stop(code(error_code));
    }

    fn recv_id(&self) -> StreamId {
        number(self.stream.id())
    }
}

/// The sending side of a stream.
pub(crate) struct Sender<B: Buf> {
    stream: quic::SendStream,
    /// What is being written.
    left: Option<WriteBuf<B>>,
}

impl<B: Buf> Sender<B> {
    fn new(stream: quic::SendStream) -> Self {
        Self { stream, left: None }
    }
}

impl<B: Buf> traits::SendStream<B> for Sender<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(left) = &mut self.left {
            while left.has_remaining() {
                let written = ready!(Pin::new(&mut self.stream).poll_write(cx, left.chunk())).map_err(writing)?;
                left.advance(written);
            }
        }
        self.left = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.left.is_some() {
            let text = "data were sent before there was room".to_owned();
            return Err(of_connection(ConnectionErrorIncoming::InternalError(text)));
        }
        self.left = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        Poll::Ready(self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, reset_code: u64) {
        // A stream that is over has nobody to tell.
        let _ = self.stream.reset(code(reset_code));
    }

    fn send_id(&self) -> StreamId {
        number(self.stream.id())
    }
}
