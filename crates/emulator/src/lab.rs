//! A lab: the hosts of a plan, its network between them, and the thread that moves packets.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anabranch_core::{Network as Topology, NodeId, Span, Time};
use anabranch_plan::{Plan, way_back};
use thiserror::Error;

use crate::addresses::{MOST_PATHS, addresses};
use crate::driver::{Driven, Driver, time_since};
use crate::hops::{Hop, hops};
use crate::host::{Host, Setup};
use crate::network::Network;
use crate::processes::Processes;
use crate::report::{LinkReport, Report, faults};
use crate::sample::Sample;

/// Greatest number of hosts in a lab, since each takes a thread and a network namespace.
const MOST_HOSTS: usize = 256;

/// Least MTU of IPv4.
const LEAST_MTU: u32 = 68;

/// Greatest size of an IP packet, in bytes.
const MOST_MTU: u32 = 65_535;

/// The options of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// MTU of hosts: the size of the largest packet that they send, with its IP header.
    pub mtu: u32,
    /// Whether the lab has hops: each node of a path is then a host, and [`Lab::hops`] connects it with its neighbours.
    pub hops: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { mtu: 1500, hops: false }
    }
}

/// The reason why a lab cannot be made.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum LabError {
    #[error("the scenario has no paths; a lab needs one or more")]
    NoPaths,
    #[error("the scenario has {0} paths and hops; a lab has addresses for {MOST_PATHS} at most")]
    Paths(usize),
    #[error("it needs {0} hosts, one at each node where paths or hops end; a lab has {MOST_HOSTS} at most")]
    Hosts(usize),
    #[error("the MTU is {0} bytes; it must be {LEAST_MTU} to {MOST_MTU}")]
    Mtu(u32),
    #[error("node `{node}`: {source}; the emulator needs root, or CAP_SYS_ADMIN and CAP_NET_ADMIN")]
    Host { node: String, source: io::Error },
    #[error("the thread of the emulator cannot be started: {0}")]
    Thread(#[from] io::Error),
}

/// A lab: the network of a plan in real time, until it is dropped.
pub struct Lab {
    network: Arc<Topology>,
    /// The hosts, in the order of nodes.
    hosts: Vec<Host>,
    hops: Vec<Hop>,
    /// The number of addresses that precede those of hops.
    first_hop: usize,
    least_round_trip: Span,
    start: Instant,
    /// One end of a socket pair; closing it ends the driver.
    stop: Option<UnixStream>,
    driver: Option<JoinHandle<Driven>>,
}

/// The reason why the kernel refuses a lab here; `None` if a lab is possible.
pub fn lab_refusal() -> Option<String> {
    let setup = Setup { node: NodeId(0), mtu: LEAST_MTU, addresses: vec![addresses(0)] };
    let refused = |error| format!("{error}; the emulator needs root, or CAP_SYS_ADMIN and CAP_NET_ADMIN");
    Host::start(&setup, Arc::default()).err().map(refused)
}

impl Lab {
    /// Makes a host of each node at which a path begins or ends, and joins the hosts by the plan's links. The time of
    /// the lab begins now.
    pub fn start(plan: &Plan, options: Options) -> Result<Self, LabError> {
        let hops = hops_of(plan, options);
        let network = Network::new(plan, &hops);
        Self::with(plan, options, (network, hops), None)
    }

    /// Starts a lab and a stream of samples of its network. The instants of the samples are in the order of time; a
    /// sample arrives soon after its instant.
    pub fn start_watched(
        plan: &Plan,
        options: Options,
        instants: Vec<Time>,
    ) -> Result<(Self, Receiver<Sample>), LabError> {
        let (onlooker, samples) = channel();
        let hops = hops_of(plan, options);
        let mut network = Network::new(plan, &hops);
        network.watch(instants);
        Ok((Self::with(plan, options, (network, hops), Some(onlooker))?, samples))
    }

    fn with(
        plan: &Plan,
        options: Options,
        (network, hops): (Network, Vec<Hop>),
        onlooker: Option<Sender<Sample>>,
    ) -> Result<Self, LabError> {
        let setups = setups(plan, &hops, options.mtu)?;
        let mut hosts = Vec::new();
        let mut tuns = Vec::new();
        let processes: Arc<Processes> = Arc::default();
        for setup in &setups {
            let node = || plan.network.node(setup.node).name.clone();
            let (host, tun) =
                Host::start(setup, processes.clone()).map_err(|source| LabError::Host { node: node(), source })?;
            hosts.push(host);
            tuns.push((setup.node, tun));
        }
        let (stop, stopped) = UnixStream::pair()?;
        let start = Instant::now();
        let driver = Driver::new(network, tuns, start, onlooker);
        let driver = thread::Builder::new().name("emulator".to_owned()).spawn(move || driver.run(&stopped))?;
        let least_round_trip = least_round_trip(plan);
        let (stop, driver) = (Some(stop), Some(driver));
        let first_hop = plan.paths.len();
        Ok(Self { network: plan.network.clone(), hosts, hops, first_hop, least_round_trip, start, stop, driver })
    }

    /// The host of a node; `None` if no path and no hop begins or ends there.
    pub fn host(&self, node: NodeId) -> Option<&Host> {
        self.hosts.binary_search_by_key(&node, |host| host.node).ok().map(|place| &self.hosts[place])
    }

    /// All hosts, in the order of nodes.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The addresses of the beginning and the end of a path; paths are counted over all connections.
    ///
    /// Packets between the two addresses take the path or its way back. Other packets between the same hosts take no
    /// path.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn addresses(&self, path: usize) -> (IpAddr, IpAddr) {
        let (from, to) = addresses(path);
        (from.into(), to.into())
    }

    /// The hops between hosts; none unless the options requested them.
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The addresses of the beginning and the end of a hop.
    ///
    /// # Panics
    /// If there is no such hop.
    pub fn addresses_of_hop(&self, hop: usize) -> (IpAddr, IpAddr) {
        self.addresses(self.first_hop + hop)
    }

    /// The least round-trip time of any path with empty queues.
    pub fn least_round_trip(&self) -> Span {
        self.least_round_trip
    }

    /// The time since the start of the lab, which also determines changing capacities.
    pub fn now(&self) -> Time {
        time_since(self.start)
    }

    /// Ends the lab, and returns its report. The programs in the lab are killed; its threads have to end by themselves.
    pub fn finish(mut self) -> Report {
        let lasted = Span(self.now().0);
        let lost: u64 = self.hosts.iter().map(Host::dropped).sum();
        self.stop = None;
        let driver = self.driver.take().expect("a lab has a driver until it ends");
        let driven = driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let link = |(link, count): (anabranch_core::LinkId, crate::network::Count)| LinkReport {
            link: self.network.link(link).name.clone(),
            packets: count.packets,
            bytes: count.totals.bytes,
            dropped: count.totals.dropped,
            marked: count.marked,
            most_packets: count.totals.most_packets,
        };
        let lost = lost + driven.refused;
        Report {
            lasted,
            delivered: driven.delivered,
            lateness: driven.lateness,
            busy: driven.busy,
            has_precedence: driven.has_precedence,
            strangers: driven.network.strangers(),
            links: driven.network.counts().map(link).collect(),
            faults: faults(&driven.lateness, self.least_round_trip, lost, driven.network.overflowed()),
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(driver) = self.driver.take() {
            // The message of a panic was printed; a panic while another unwinds would abort the process.
            let _ = driver.join();
        }
    }
}

fn hops_of(plan: &Plan, options: Options) -> Vec<Hop> {
    if options.hops { hops(plan) } else { Vec::new() }
}

/// The settings of a plan's hosts, in the order of nodes.
fn setups(plan: &Plan, hops: &[Hop], mtu: u32) -> Result<Vec<Setup>, LabError> {
    let paths = plan.paths.len();
    if !(LEAST_MTU..=MOST_MTU).contains(&mtu) {
        return Err(LabError::Mtu(mtu));
    }
    if paths == 0 {
        return Err(LabError::NoPaths);
    }
    if paths + hops.len() > MOST_PATHS {
        return Err(LabError::Paths(paths + hops.len()));
    }
    let mut hosts: BTreeMap<NodeId, Vec<(Ipv4Addr, Ipv4Addr)>> = BTreeMap::new();
    for path in 0..paths {
        let links = plan.paths.path(path);
        let (from, to) = addresses(path);
        hosts.entry(plan.network.link(links[0]).source).or_default().push((from, to));
        hosts.entry(plan.network.link(links[links.len() - 1]).target).or_default().push((to, from));
    }
    for (place, hop) in hops.iter().enumerate() {
        let (from, to) = addresses(paths + place);
        hosts.entry(hop.from).or_default().push((from, to));
        hosts.entry(hop.to).or_default().push((to, from));
    }
    if hosts.len() > MOST_HOSTS {
        return Err(LabError::Hosts(hosts.len()));
    }
    Ok(hosts.into_iter().map(|(node, addresses)| Setup { node, mtu, addresses }).collect())
}

/// The least round-trip time of any path with empty queues.
fn least_round_trip(plan: &Plan) -> Span {
    let delay = |links: &[anabranch_core::LinkId]| links.iter().map(|&l| plan.network.link(l).delay.0).sum::<u64>();
    let round_trip = |p: usize| {
        let path = plan.paths.path(p);
        delay(path) + delay(&way_back(&plan.network, path))
    };
    Span((0..plan.paths.len()).map(round_trip).min().unwrap_or(0))
}
