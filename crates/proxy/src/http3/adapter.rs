//! Connections of the QUIC library, as the HTTP/3 library uses them.
//!
//! The HTTP/3 library reads ahead whenever it is asked for data, so that flow control would not hold. [`read`] lets it read
//! only when it has nothing left to give.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use anabranch_live::quic::{self, Connection, ConnectionError, ReadError, VarInt, WriteError};
use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self as traits, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};

use super::protocol::{Beginning, as_sent};

/// The most bytes that are read from a stream at a time: a large piece takes few calls to send on.
const PIECE: usize = 32 << 10;

/// Something that a connection is waiting for.
type Waiting<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send + Sync>>;

/// Both directions of a stream.
type Both = (quic::SendStream, quic::RecvStream);

thread_local! {
    /// Whether receivers may read now, and whether one has found the end of its stream.
    static READING: Cell<(bool, bool)> = const { Cell::new((true, false)) };
}

/// Polls for the data of a stream: first for what has been read already, then for what one read brings. An empty frame is
/// not the end of the stream, which `is_over` keeps.
pub(crate) fn read<T, E>(
    is_over: &mut bool,
    mut poll: impl FnMut() -> Poll<Result<Option<T>, E>>,
) -> Poll<Result<Option<T>, E>> {
    let with = |may_read: bool, poll: &mut dyn FnMut() -> Poll<Result<Option<T>, E>>| {
        READING.set((may_read, false));
        let outcome = poll();
        let (_, has_ended) = READING.replace((true, false));
        (outcome, has_ended)
    };
    loop {
        match with(false, &mut poll).0 {
            Poll::Ready(Ok(None)) if *is_over => return Poll::Ready(Ok(None)),
            Poll::Pending | Poll::Ready(Ok(None)) => {}
            ready @ Poll::Ready(_) => return ready,
        }
        let (outcome, has_ended) = with(true, &mut poll);
        *is_over |= has_ended;
        if !matches!(outcome, Poll::Ready(Ok(None))) || *is_over {
            return outcome;
        }
    }
}

/// Closes a connection that is open: the reason why another was closed stays.
pub(crate) fn close(connection: &Connection, code: VarInt, text: &[u8]) {
    if connection.close_reason().is_none() {
        connection.close(code, text);
    }
}

/// What a connection may read: a number of bytes until the peer is known, and then all.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<AtomicU64>);

impl Budget {
    /// This number of bytes.
    pub fn of(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Without bounds.
    pub fn unbounded() -> Self {
        Self::of(u64::MAX)
    }

    /// Takes the bounds away.
    pub fn lift(&self) {
        self.0.store(u64::MAX, Ordering::Relaxed);
    }

    /// Takes some bytes; whether they were left.
    fn take(&self, bytes: usize) -> bool {
        let take = |left: u64| if left == u64::MAX { Some(left) } else { left.checked_sub(bytes as u64) };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// A connection.
pub(crate) struct Adapter {
    budget: Budget,
    opener: Opener,
    both: Option<Waiting<Both>>,
    one: Option<Waiting<quic::RecvStream>>,
}

impl Adapter {
    pub fn new(connection: Connection, budget: Budget) -> Self {
        let opener = Opener { connection, budget: budget.clone(), both: None, one: None };
        Self { budget, opener, both: None, one: None }
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
        let budget = &self.budget;
        wait(&mut self.one, cx, begin).map_ok(|stream| Receiver::new(stream, budget.clone()))
    }

    fn poll_accept_bidi(&mut self, cx: &mut Context<'_>) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let connection = &self.opener.connection;
        let begin = || -> Waiting<_> {
            let connection = connection.clone();
            Box::pin(async move { connection.accept_bi().await })
        };
        let budget = &self.budget;
        wait(&mut self.both, cx, begin).map_ok(|both| BidiStream::asked(both, budget.clone()))
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
    budget: Budget,
    both: Option<Waiting<Both>>,
    one: Option<Waiting<quic::SendStream>>,
}

impl Clone for Opener {
    fn clone(&self) -> Self {
        Self { connection: self.connection.clone(), budget: self.budget.clone(), both: None, one: None }
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
        let budget = &self.budget;
        wait(&mut self.both, cx, begin).map_ok(|both| BidiStream::asking(both, budget.clone())).map_err(of_connection)
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
        close(&self.connection, code(reason.value()), text);
    }
}

/// A stream in both directions.
pub(crate) struct BidiStream<B: Buf> {
    sender: Sender<B>,
    receiver: Receiver,
}

impl<B: Buf> BidiStream<B> {
    /// A stream on which this end sends a request.
    fn asking((sender, receiver): Both, budget: Budget) -> Self {
        let mut sender = Sender::new(sender);
        sender.is_first = true;
        Self { sender, receiver: Receiver::new(receiver, budget) }
    }

    /// A stream on which the other end sends a request.
    fn asked((sender, receiver): Both, budget: Budget) -> Self {
        let receiver = Receiver { beginning: Some(Beginning::default()), ..Receiver::new(receiver, budget) };
        Self { sender: Sender::new(sender), receiver }
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
    budget: Budget,
    piece: Box<[u8]>,
    /// What has come before the header of a request was there.
    beginning: Option<Beginning>,
}

impl Receiver {
    fn new(stream: quic::RecvStream, budget: Budget) -> Self {
        Self { stream, budget, piece: Box::default(), beginning: None }
    }
}

impl traits::RecvStream for Receiver {
    type Buf = Bytes;

    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        if !READING.get().0 {
            // It is polled again at once, with the right to read.
            return Poll::Pending;
        }
        if self.piece.is_empty() {
            self.piece = vec![0; PIECE].into_boxed_slice();
        }
        loop {
            let read = ready!(self.stream.poll_read(cx, &mut self.piece)).map_err(reading)?;
            if !self.budget.take(read) {
                let text = "more was sent than a peer without a token may send".to_owned();
                return Poll::Ready(Err(of_connection(ConnectionErrorIncoming::InternalError(text))));
            }
            // Nothing read into a piece with room is the end of the stream.
            if read == 0 {
                let rest = self.beginning.take().map(|mut beginning| beginning.rest());
                READING.set((true, true));
                return Poll::Ready(Ok(rest.filter(|rest| !rest.is_empty())));
            }
            let piece = &self.piece[..read];
            let Some(beginning) = &mut self.beginning else {
                return Poll::Ready(Ok(Some(Bytes::copy_from_slice(piece))));
            };
            if let Some(all) = beginning.add(piece) {
                self.beginning = None;
                return Poll::Ready(Ok(Some(all)));
            }
        }
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
    left: Option<Left<B>>,
    is_over: bool,
    /// Whether the header of a request comes first, and has not come.
    is_first: bool,
}

/// What is being written: as the library has it, or a header with another protocol.
enum Left<B> {
    Plain(WriteBuf<B>),
    Header(Bytes),
}

impl<B: Buf> Drop for Sender<B> {
    /// Resets a stream that was not finished: by itself it would end as if it were whole.
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.stream.reset(code(Code::H3_REQUEST_CANCELLED.value()));
        }
    }
}

impl<B: Buf> Sender<B> {
    fn new(stream: quic::SendStream) -> Self {
        Self { stream, left: None, is_over: false, is_first: false }
    }
}

impl<B: Buf> traits::SendStream<B> for Sender<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if let Some(left) = &mut self.left {
            let left: &mut dyn Buf = match left {
                Left::Plain(left) => left,
                Left::Header(left) => left,
            };
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
        let mut data = data.into();
        self.left = Some(if std::mem::take(&mut self.is_first) {
            let all = data.copy_to_bytes(data.remaining());
            Left::Header(as_sent(&all).unwrap_or(all))
        } else {
            Left::Plain(data)
        });
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        self.is_over = true;
        Poll::Ready(self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(Box::new(error))))
    }

    fn reset(&mut self, reset_code: u64) {
        // A stream that is over has nobody to tell.
        let _ = self.stream.reset(code(reset_code));
        self.is_over = true;
    }

    fn send_id(&self) -> StreamId {
        number(self.stream.id())
    }
}
