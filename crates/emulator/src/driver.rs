//! The thread that moves packets: from TUN devices into the network, and out of it when they are due.

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

/// So many packets are read from a device before what is due is delivered.
const BATCH: usize = 16;

/// The largest packet of IP.
const LARGEST: usize = 65_535;

/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1000;

/// What is later counts as this late: an hour in nanoseconds.
const LATEST: u64 = 3600 * 1_000_000_000;

/// The device of a host.
struct Tun {
    node: NodeId,
    file: File,
    /// Whether a program in the host has removed it.
    is_gone: bool,
}

/// What moves the packets of a lab.
pub struct Driver {
    network: Network,
    /// In the order of nodes.
    tuns: Vec<Tun>,
    start: Instant,
    /// In nanoseconds.
    lateness: Histogram<u64>,
    refused: u64,
    /// Whom to tell of samples.
    onlooker: Option<Sender<Sample>>,
}

/// What is left of a driver.
pub struct Driven {
    /// The network as it was at the end.
    pub network: Network,
    /// How late packets were.
    pub lateness: Lateness,
    /// How many.
    pub delivered: u64,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// For so long the thread had a processor.
    pub busy: Span,
    /// Whether it had precedence.
    pub has_precedence: bool,
}

fn span(duration: Duration) -> u64 {
    (duration.as_nanos() as u64).saturating_mul(NANOSECOND)
}

/// The time of a run that began at an instant.
pub fn time_since(start: Instant) -> Time {
    Time(span(start.elapsed()))
}

impl Driver {
    /// The devices are in the order of their nodes.
    pub fn new(network: Network, tuns: Vec<(NodeId, File)>, start: Instant, onlooker: Option<Sender<Sample>>) -> Self {
        let lateness = Histogram::new_with_max(LATEST, 3).expect("three digits are few");
        let tuns = tuns.into_iter().map(|(node, file)| Tun { node, file, is_gone: false }).collect();
        Self { network, tuns, start, lateness, refused: 0, onlooker }
    }

    /// Moves packets until the other end of `stop` is closed.
    pub fn run(mut self, stop: &UnixStream) -> Driven {
        // Without either the lab works, but later; the report says how late.
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

    /// Hands over all that is due.
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
            // Who has gone wants no more of them.
            self.network.samples().for_each(|sample| drop(onlooker.send(sample)));
        }
    }

    /// Sleeps until something is due or comes; says whether all is over, and which devices have packets.
    fn wait(&self, stop: &UnixStream) -> (bool, Vec<usize>) {
        // One that is gone is ready for ever.
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

    /// Takes some packets from a device.
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
