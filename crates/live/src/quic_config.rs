//! The settings of QUIC connections.

use std::sync::Arc;
use std::time::Duration;

use crate::control::{Group, Logged, MOST_PATHS};
use crate::qlog::ConnectionLog;
use crate::quic::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};

/// The most streams of each kind that a peer may have open at a time.
const MOST_STREAMS: u32 = 64;

/// The most bytes in flight on a stream. A connection ends where a stream has some thousand gaps, so packets of 1200
/// bytes of which every other is lost must stay below; a sender that needs more takes several streams.
pub const STREAM_WINDOW: u32 = 2 << 20;

/// Bytes that a peer which only sends requests may send on a stream before they are read: more than any request has.
const REQUEST_WINDOW: u32 = 8 << 10;

/// The longest delay of an acknowledgement at a peer that is not asked for others: it acknowledges every second packet at
/// once, and a single packet after this time [rfc9000, sec. 18.2].
const ACK_DELAY: Duration = Duration::from_millis(25);

/// Bytes that are kept until they are acknowledged, before the window is known.
const FIRST_SEND_WINDOW: u64 = 1 << 20;

/// Bytes of datagrams that wait, which are short reports.
const DATAGRAMS: usize = 4 << 10;

/// The settings of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicConfig {
    /// Size of full packets, as payload of UDP; `None` for the largest that each path supports.
    pub payload: Option<u16>,
    /// The longest silence of a path, or of a connection, before it is given up.
    pub idle: Duration,
    /// Number of packets that the peer is asked to acknowledge at a time, and delay after which it is to acknowledge fewer.
    /// Only for peers that are trusted: the process ends if a peer that was asked gives up the last path of a connection.
    pub acks: Option<(u32, Duration)>,
    /// Bytes that a peer may send before they are read, over all streams.
    pub receive_window: u32,
    /// Bytes that a peer may send before they are read, on one stream.
    pub stream_window: u32,
    /// The most open streams of a peer.
    pub streams: u32,
    /// The most open streams without answers of a peer.
    pub uni_streams: u32,
    /// Bytes of datagrams that wait to be sent, and to be read; old ones are dropped.
    pub datagrams: usize,
}

impl Default for QuicConfig {
    /// The settings for unknown networks.
    fn default() -> Self {
        Self {
            payload: None,
            idle: Duration::from_millis(2400),
            acks: None,
            receive_window: 32 << 20,
            stream_window: STREAM_WINDOW,
            streams: MOST_STREAMS,
            uni_streams: MOST_STREAMS,
            datagrams: DATAGRAMS,
        }
    }
}

impl QuicConfig {
    /// The settings for a peer that only sends requests, with small limits on what it may send before it is read.
    pub fn asking() -> Self {
        let receive_window = MOST_STREAMS * REQUEST_WINDOW;
        Self { receive_window, stream_window: REQUEST_WINDOW, uni_streams: 0, ..Self::default() }
    }

    /// Converts the settings for the QUIC library, with a group as its congestion control, which tells a log, if one is kept.
    pub(crate) fn transport(&self, group: Arc<Group>, log: Option<Arc<ConnectionLog>>) -> TransportConfig {
        group.expect_late_acks(if self.acks.is_none() { ACK_DELAY } else { Duration::ZERO });
        let mut transport = TransportConfig::default();
        let most = VarInt::MAX.into_inner();
        let idle = VarInt::from_u64(u64::try_from(self.idle.as_millis()).unwrap_or(most)).unwrap_or(VarInt::MAX);
        match log {
            Some(log) => transport.congestion_controller_factory(Arc::new(Logged { group, log })),
            None => transport.congestion_controller_factory(group),
        };
        transport
            .max_concurrent_multipath_paths(MOST_PATHS as u32)
            .max_idle_timeout(Some(IdleTimeout::from(idle)))
            .default_path_max_idle_timeout(Some(self.idle))
            .receive_window(VarInt::from_u32(self.receive_window))
            .stream_receive_window(VarInt::from_u32(self.stream_window))
            .send_window(FIRST_SEND_WINDOW)
            .max_concurrent_bidi_streams(VarInt::from_u32(self.streams))
            .max_concurrent_uni_streams(VarInt::from_u32(self.uni_streams))
            .datagram_receive_buffer_size(Some(self.datagrams))
            .datagram_send_buffer_size(self.datagrams);
        if let Some(payload) = self.payload {
            transport.initial_mtu(payload).mtu_discovery_config(None);
        }
        if let Some((every, delay)) = self.acks {
            let mut acks = AckFrequencyConfig::default();
            acks.ack_eliciting_threshold(VarInt::from_u32(every.saturating_sub(1))).max_ack_delay(Some(delay));
            transport.ack_frequency_config(Some(acks));
        }
        transport
    }
}
