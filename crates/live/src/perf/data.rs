//! The data of a measurement: sent from memory, counted at the receiver.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::PerfError;
use super::wire::{Cpu, DRAINING, Done, Request, ended, timely};
use crate::quic::SendStream;
use crate::session::Session;

/// Bytes that are written at a time.
const PIECE: usize = 1 << 18;

/// Time between adjustments of the send buffer.
const TICK: Duration = Duration::from_millis(50);

/// A count of bytes sent or received so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(super) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Subtracts `most` bytes, or the rest of an amount, and returns their number.
    fn take(&self, most: u64) -> u64 {
        let take = |left: u64| Some(left - left.min(most));
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_or(0, |left| left.min(most))
    }
}

/// Sends the requested data. Also returns the finished streams, whose data may not have arrived yet.
pub(super) async fn send(
    session: &Session,
    request: &Request,
    sent: &Counter,
) -> Result<(Done, Vec<SendStream>), PerfError> {
    let (start, cpu) = (Instant::now(), Cpu::now());
    let end = tokio::time::Instant::now() + Duration::from_secs_f64(request.seconds);
    let left = Counter(Arc::new(AtomicU64::new(request.bytes)));
    let mut finished = Vec::new();
    let mut streams = JoinSet::new();
    session.fit_send_window();
    for _ in 0..request.streams {
        let opened = async { session.connection().open_uni().await.map_err(ended) };
        let stream = timely("it takes no streams", opened).await?;
        streams.spawn(fill(stream, left.clone(), sent.clone(), end));
    }
    loop {
        tokio::select! {
            filled = streams.join_next() => match filled {
                Some(filled) => finished.push(filled.map_err(ended)??),
                None => break,
            },
            () = tokio::time::sleep(TICK) => session.fit_send_window(),
        }
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), Cpu::now().since(cpu));
    Ok((Done { bytes: sent.read(), seconds, cpu, ..Done::default() }, finished))
}

/// Waits until all data of these streams have arrived, so that none of their packets can still be lost; up to a limit.
pub(super) async fn drain(streams: &[SendStream]) {
    let all = async {
        for stream in streams {
            // Nothing more arrives after the end of the connection.
            let _ = stream.stopped().await;
        }
    };
    let _ = tokio::time::timeout(DRAINING, all).await;
}

/// Writes to a stream until the amount or the time is used up; returns the stream, finished.
async fn fill(
    mut stream: SendStream,
    left: Counter,
    sent: Counter,
    end: tokio::time::Instant,
) -> Result<SendStream, PerfError> {
    static ZEROS: [u8; PIECE] = [0; PIECE];
    // The peer detects a stream by its first bytes, and waits for the agreed number of streams.
    let mut piece = Bytes::from_static(&ZEROS[..left.take(PIECE as u64) as usize]);
    loop {
        while !piece.is_empty() {
            // Chunks are not copied.
            let chunks = &mut std::slice::from_mut(&mut piece);
            let Ok(written) = tokio::time::timeout_at(end, stream.write_many_chunks(chunks)).await else {
                return stream.finish().map(|()| stream).map_err(ended);
            };
            sent.add(written.map_err(ended)? as u64);
        }
        piece = Bytes::from_static(&ZEROS[..left.take(PIECE as u64) as usize]);
        if piece.is_empty() || tokio::time::Instant::now() >= end {
            return stream.finish().map(|()| stream).map_err(ended);
        }
    }
}

/// Receives the requested data, and counts them.
pub(super) async fn receive(session: &Session, request: &Request, received: &Counter) -> Result<Done, PerfError> {
    let (start, cpu) = (Instant::now(), Cpu::now());
    let mut streams = JoinSet::new();
    for _ in 0..request.streams {
        let accepted = async { session.connection().accept_uni().await.map_err(ended) };
        let mut stream = timely("it sends nothing", accepted).await?;
        let received = received.clone();
        streams.spawn(async move {
            while let Some(chunk) = stream.read_chunk(PIECE).await.map_err(ended)? {
                received.add(chunk.len() as u64);
            }
            Ok::<(), PerfError>(())
        });
    }
    // The sender stops by its own clock, and packets then in flight still arrive.
    let most = Duration::from_secs_f64(request.seconds) + DRAINING;
    let all = async {
        while let Some(read) = streams.join_next().await {
            read.map_err(ended)??;
        }
        Ok::<(), PerfError>(())
    };
    tokio::time::timeout(most, all).await.map_err(|_| PerfError::Unruly("it sends for too long".to_owned()))??;
    let bytes = received.read();
    if bytes > request.bytes {
        return Err(PerfError::Unruly(format!("{bytes} bytes came where {} were asked for", request.bytes)));
    }
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), Cpu::now().since(cpu));
    Ok(Done { bytes, seconds, cpu, ..Done::default() })
}
