//! The thread that moves packets: it takes them from TUN devices into the network, and delivers them when they are due.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use anabranch_core::{NodeId, Span, Time};
use hdrhistogram::Histogram;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

use crate::kernel::{OF_EMULATOR, take_precedence};
use crate::network::Network;
use crate::packet::Packet;
use crate::report::Lateness;
use crate::sample::Sample;

/// Number of packets that are read from a device before due packets are delivered.
const BATCH: usize = 16;

/// Greatest size of an IP packet, in bytes.
const LARGEST: usize = 65_535;

/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1000;

/// Greatest lateness that is recorded, an hour in nanoseconds.
const LATEST: u64 = 3600 * 1_000_000_000;

/// The TUN device of a host.
struct Tun {
    node: NodeId,
    file: File,
    /// Whether a program in the host has removed the device.
    is_gone: bool,
}

/// The driver of a lab, which moves its packets.
pub struct Driver {
    network: Network,
    /// The TUN devices of hosts, in the order of nodes.
    tuns: Vec<Tun>,
    start: Instant,
    /// Distribution of the lateness, in nanoseconds.
    lateness: Histogram<u64>,
    refused: u64,
    /// Receiver of samples; `None` if there is none.
    onlooker: Option<Sender<Sample>>,
}

/// The final state of a driver.
pub struct Driven {
    /// The network at the end.
    pub network: Network,
    /// The lateness of packets.
    pub lateness: Lateness,
    /// Number of packets delivered.
    pub delivered: u64,
    /// Number of packets that the kernel refused.
    pub refused: u64,
    /// Processor time of the thread.
    pub busy: Span,
    /// Whether the thread had real-time priority.
    pub has_precedence: bool,
}

fn span(duration: Duration) -> u64 {
    (duration.as_nanos() as u64).saturating_mul(NANOSECOND)
}

/// The time of a run that began at `start`.
pub fn time_since(start: Instant) -> Time {
    Time(span(start.elapsed()))
}

impl Driver {
    /// A driver of the network and its devices, which are in the order of their nodes.
    pub fn new(network: Network, tuns: Vec<(NodeId, File)>, start: Instant, onlooker: Option<Sender<Sample>>) -> Self {
        let lateness = Histogram::new_with_max(LATEST, 3).expect("three digits are few");
        let tuns = tuns.into_iter().map(|(node, file)| Tun { node, file, is_gone: false }).collect();
        Self { network, tuns, start, lateness, refused: 0, onlooker }
    }

    /// Moves packets until the other end of `stop` is closed.
    pub fn run(mut self, stop: &UnixStream) -> Driven {
        // The lab works without either, but later; the report shows how late.
        let has_precedence = take_precedence(OF_EMULATOR).is_ok();
        let _ = set_timerslack(1);
        let mut buffer = vec![0; LARGEST];
        loop {
            self.deliver();
            let (is_over, ready) = self.wait(stop);
            if is_over {
                break;
            }
            for place in ready {
                self.read(place, &mut buffer);
            }
        }
        let nanoseconds = |quantile| Span(self.lateness.value_at_quantile(quantile) * NANOSECOND);
        let lateness =
            Lateness { p50: nanoseconds(0.5), p99: nanoseconds(0.99), max: Span(self.lateness.max() * NANOSECOND) };
        let busy = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| span(time.into()));
        Driven {
            lateness,
            delivered: self.lateness.len(),
            network: self.network,
            refused: self.refused,
            busy: Span(busy),
            has_precedence,
        }
    }

    /// Delivers all packets that are due.
    fn deliver(&mut self) {
        for delivery in self.network.pop(time_since(self.start)) {
            let place = self.tuns.binary_search_by_key(&delivery.node, |tun| tun.node);
            let mut file = &self.tuns[place.expect("each end of a path has a device")].file;
            if file.write(delivery.packet.as_bytes()).is_err() {
                self.refused += 1;
                continue;
            }
            let late = time_since(self.start).0.saturating_sub(delivery.due.0);
            self.lateness.saturating_record(late / NANOSECOND);
        }
        if let Some(onlooker) = &self.onlooker {
            // A host whose device is gone receives no more packets.
            self.network.samples().for_each(|sample| drop(onlooker.send(sample)));
        }
    }

    /// Waits until an event is due or a packet arrives; returns whether the lab has ended, and the devices that have
    /// packets.
    fn wait(&self, stop: &UnixStream) -> (bool, Vec<usize>) {
        // A removed device is always ready.
        let places: Vec<usize> = (0..self.tuns.len()).filter(|&place| !self.tuns[place].is_gone).collect();
        let files = places.iter().map(|&place| self.tuns[place].file.as_fd());
        let mut all: Vec<PollFd> =
            files.chain([stop.as_fd()]).map(|file| PollFd::new(file, PollFlags::POLLIN)).collect();
        let next = self.network.next_at();
        let timeout = next.map(|next| {
            let left = next.0.saturating_sub(time_since(self.start).0).div_ceil(NANOSECOND);
            TimeSpec::from_duration(Duration::from_nanos(left))
        });
        match ppoll(&mut all, timeout, None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("the devices are open, but cannot be waited for: {error}"),
        }
        let is_ready = |fd: &PollFd| fd.any().unwrap_or(true);
        let is_over = all.last().is_some_and(is_ready);
        (is_over, places.into_iter().zip(&all).filter(|(_, fd)| is_ready(fd)).map(|(place, _)| place).collect())
    }

    /// Reads some packets from a device.
    fn read(&mut self, place: usize, buffer: &mut [u8]) {
        for _ in 0..BATCH {
            let mut file = &self.tuns[place].file;
            match file.read(buffer) {
                Ok(bytes) => {
                    if let Some(packet) = Packet::read(&buffer[..bytes]) {
                        self.network.handle(packet, time_since(self.start));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.tuns[place].is_gone = error.kind() != ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }
}
