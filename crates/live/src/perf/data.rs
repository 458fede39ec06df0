//! The data of a measurement: sent from memory, counted where they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use noq::SendStream;
use tokio::task::JoinSet;

use super::PerfError;
use super::wire::{Cpu, Done, PATIENCE, Request, ended};
use crate::session::Session;

/// Bytes written at a time.
const PIECE: usize = 1 << 18;

/// How often it is looked whether the sender keeps as much as it needs.
const TICK: Duration = Duration::from_millis(50);

/// Bytes sent or received so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(super) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes so many bytes or what is left of an amount.
    fn take(&self, most: u64) -> u64 {
        let take = |left: u64| Some(left - left.min(most));
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_or(0, |left| left.min(most))
    }
}

/// Sends what was asked for.
pub(super) async fn send(session: &Session, request: &Request, sent: &Counter) -> Result<Done, PerfError> {
    let (start, cpu) = (Instant::now(), Cpu::now());
    let end = tokio::time::Instant::now() + Duration::from_secs_f64(request.seconds);
    let left = Counter(Arc::new(AtomicU64::new(request.bytes)));
    let mut streams = JoinSet::new();
    for _ in 0..request.streams {
        let stream = session.connection().open_uni().await.map_err(ended)?;
        streams.spawn(fill(stream, left.clone(), sent.clone(), end));
    }
    loop {
        tokio::select! {
            filled = streams.join_next() => match filled {
                Some(filled) => filled.map_err(ended)??,
                None => break,
            },
            () = tokio::time::sleep(TICK) => session.fit_send_window(),
        }
    }
    Ok(Done { bytes: sent.read(), seconds: start.elapsed().as_secs_f64(), cpu: Cpu::now().since(cpu) })
}

/// Writes to a stream until nothing is left or the time is over.
async fn fill(
    mut stream: SendStream,
    left: Counter,
    sent: Counter,
    end: tokio::time::Instant,
) -> Result<(), PerfError> {
    static ZEROS: [u8; PIECE] = [0; PIECE];
    // The peer hears of a stream when something comes, and it waits for as many as were agreed on.
    let mut piece = Bytes::from_static(&ZEROS[..left.take(PIECE as u64) as usize]);
    loop {
        while !piece.is_empty() {
            let Ok(written) = tokio::time::timeout_at(end, stream.write(&piece)).await else {
                return stream.finish().map_err(ended);
            };
            let written = written.map_err(ended)?;
            sent.add(written as u64);
            piece = piece.slice(written..);
        }
        piece = Bytes::from_static(&ZEROS[..left.take(PIECE as u64) as usize]);
        if piece.is_empty() || tokio::time::Instant::now() >= end {
            return stream.finish().map_err(ended);
        }
    }
}

/// Takes what was asked for, and counts it.
pub(super) async fn receive(session: &Session, request: &Request, received: &Counter) -> Result<Done, PerfError> {
    let (start, cpu) = (Instant::now(), Cpu::now());
    let mut streams = JoinSet::new();
    for _ in 0..request.streams {
        let accepted = tokio::time::timeout(PATIENCE, session.connection().accept_uni()).await;
        let mut stream = accepted.map_err(|_| PerfError::Unruly("it sends nothing".to_owned()))?.map_err(ended)?;
        let received = received.clone();
        streams.spawn(async move {
            while let Some(chunk) = stream.read_chunk(PIECE).await.map_err(ended)? {
                received.add(chunk.len() as u64);
            }
            Ok::<(), PerfError>(())
        });
    }
    // The sender stops by its own clock, and what is under way then still comes.
    let most = Duration::from_secs_f64(request.seconds) + 4 * PATIENCE;
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
    Ok(Done { bytes, seconds: start.elapsed().as_secs_f64(), cpu: Cpu::now().since(cpu) })
}
