//! Runs of plans with real packets: over the links of the emulator, with a connection of multipath QUIC for each
//! connection of the plan.
//!
//! Sources and targets are hosts of a [`Lab`]. Each connection uses the addresses of its paths, under its own protocol
//! with its parameters. Deliveries are counted where packets leave the links, headers included, as the simulator counts
//! packets. A plan with unsupported parts does not start, and all reasons are reported.

mod agents;
mod capacities;
mod connection;
mod lateness;
mod rates;
mod record;
mod relay;
mod sources;
mod supply;
mod token_bucket;
mod unsupported;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anabranch_core::{ConnectionId, NodeId, Rate, Time};
use anabranch_emulator::{Host, Lab, LabError, OF_ENDS, Options, Sample, take_precedence};
use anabranch_plan::Plan;
use tokio::runtime::{Builder, Runtime};

pub use self::agents::AgentsTotal;
use self::agents::{Agents, has_rates};
pub use self::connection::ConnectionTotal;
use self::connection::{Course, Sender, Status, data_of, drive};
use self::lateness::Probe;
use self::record::{Ends, Recorder, instants};
pub use self::record::{LinkTotal, Outcome, SubflowTotal};
pub use self::relay::RelayTotal;
use self::relay::{Inlet, RelayEnd};
use self::sources::paths_by_source;
pub use self::unsupported::unsupported;
use crate::agents::{Application, FLOOR};
use crate::control::{Group, Unsuited};
use crate::quic_config::QuicConfig;
use crate::security::{Identity, SecurityError, Trust};
use crate::session::{Client, Server, SessionError};
use crate::sockets::{Local, Sockets};

/// Bytes of the headers of IPv4 and UDP.
const OUTER: u64 = 28;

/// The least payload of UDP that QUIC permits.
const LEAST_PAYLOAD: u64 = 1200;

/// The largest packets.
const MOST_PACKET: u64 = 1500;

/// The port of every target.
const PORT: u16 = 4433;

/// Time between questions whether the run is to continue.
const LOOK: Duration = Duration::from_millis(50);

/// The longest wait for tasks to end.
const LEAVING: Duration = Duration::from_secs(1);

/// Time beyond the run for which a path may be silent: it is not given up, as in the simulator.
const BEYOND: Duration = Duration::from_mins(1);

/// The reason why a run did not start or failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan has parts that are not supported.
    #[error("it cannot be run live: {}", .0.join("; "))]
    Refused(Vec<String>),
    /// The emulator cannot start.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Threads cannot start.
    #[error("no threads to run on: {0}")]
    NoThreads(#[from] io::Error),
    /// A connection cannot start.
    #[error("connection `{name}` cannot begin: {reason}")]
    NoConnection {
        /// Name of the connection.
        name: String,
        /// Reason of the failure.
        reason: Box<SessionError>,
    },
    /// An agent cannot start.
    #[error("the agent of node `{node}` cannot begin: {reason}")]
    NoAgent {
        /// Name of the agent's node.
        node: String,
        /// Reason of the failure.
        reason: Box<SessionError>,
    },
    /// A connection ended early.
    #[error("connection `{name}` failed: {reason}")]
    Failed {
        /// Name of the connection.
        name: String,
        /// Reason of the failure.
        reason: String,
    },
    /// The emulator ended early.
    #[error("the emulator ended before the run")]
    Ended,
}

impl From<SecurityError> for RunError {
    fn from(error: SecurityError) -> Self {
        Self::NoConnection { name: "*".to_owned(), reason: Box::new(error.into()) }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Time since the beginning, in seconds.
    pub time_s: f64,
    /// Number of packets that entered a link.
    pub packets: u64,
}

/// Size of a connection's packets on links: the planned size, or the nearest that QUIC supports.
pub fn packet_size(planned: u64) -> u64 {
    planned.clamp(LEAST_PAYLOAD + OUTER, MOST_PACKET)
}

/// Runs a plan to its end, or until `watch` returns false; it is called some times a second.
///
/// # Errors
/// If the plan has unsupported parts, the kernel refuses, or a connection fails.
pub fn run(plan: &Plan, watch: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome, RunError> {
    let reasons = unsupported(plan);
    if !reasons.is_empty() {
        return Err(RunError::Refused(reasons));
    }
    let identity = Identity::made()?;
    let runtime = runtime()?;
    let options = Options { mtu: MOST_PACKET as u32, hops: has_rates(plan) };
    let (lab, samples) = Lab::start_watched(plan, options, instants(plan))?;
    let start = Instant::now().checked_sub(Duration::from_secs_f64(lab.now().seconds())).unwrap_or_else(Instant::now);
    let probe = Probe::start(&runtime);
    let agents = Agents::start(plan, &lab, &runtime, start)?;
    let begun = begin(&Arc::new(plan.clone()), &lab, start, &runtime, (identity, &agents));
    let come = begun.and_then(|all| {
        let mut recorder = Recorder::new(plan);
        let is_whole = follow(plan, &samples, &all.statuses, &mut recorder, watch)?;
        Ok((recorder, is_whole, all.ends()))
    });
    let (late, fault) = probe.finish(lab.least_round_trip());
    let total = agents.total(&runtime);
    let mut report = lab.finish();
    report.faults.extend(fault);
    // Sockets close with their tasks, and with the last of them the kernel removes the hosts.
    runtime.shutdown_timeout(LEAVING);
    let (recorder, is_whole, ends) = come?;
    Ok(recorder.finish(is_whole, ends, (report, late), total))
}

/// The threads of all connection ends. They have priority over ordinary threads, and leave one processor to these; the
/// lateness shows the effect.
fn runtime() -> io::Result<Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Builder::new_multi_thread()
        .worker_threads((processors - 1).max(1))
        .on_thread_start(|| drop(take_precedence(OF_ENDS)))
        .enable_all()
        .build()
}

/// State of connections and relays that is visible outside of their tasks.
struct Begun {
    statuses: Vec<Arc<Status>>,
    relays: Vec<Arc<RelayEnd>>,
}

impl Begun {
    fn ends(&self) -> Ends {
        Ends {
            connections: self.statuses.iter().map(|status| status.total()).collect(),
            relays: self.relays.iter().flat_map(|relay| relay.totals()).collect(),
        }
    }
}

/// Starts a task for each connection, which waits for its time.
fn begin(
    plan: &Arc<Plan>,
    lab: &Lab,
    start: Instant,
    runtime: &Runtime,
    (identity, agents): (Identity, &Agents),
) -> Result<Begun, RunError> {
    let identity = Arc::new(identity);
    let mut first = 0;
    let mut courses = Vec::new();
    for c in 0..plan.transfers.len() {
        let id = ConnectionId::new(c);
        let name = &plan.demands.connections()[c].name;
        let failed = |reason| RunError::NoConnection { name: name.clone(), reason: Box::new(reason) };
        let application = agents.application(plan, lab, runtime, id).map_err(failed)?;
        let sender = |(node, paths): (NodeId, Vec<usize>)| {
            let ends = paths.iter().map(|path| lab.addresses(first + path)).collect();
            sender(plan, lab, runtime, &identity, (id, node, paths, ends))
        };
        let senders: Result<Vec<Sender>, _> = paths_by_source(plan, id).into_iter().map(sender).collect();
        let trust = Trust::Pins(vec![identity.fingerprint()]);
        let course = course(plan, id, start, (senders.map_err(failed)?, trust), application);
        courses.push(course.map_err(|unsuited| failed(unsuited.into()))?);
        first += plan.paths.of(id).count();
    }
    let relays = join(plan, &mut courses);
    let statuses = courses.iter().map(|course| course.status.clone()).collect();
    for course in courses {
        runtime.spawn(drive(course));
    }
    Ok(Begun { statuses, relays })
}

/// Joins loops at relays: the loops before may send as much as there is room for.
fn join(plan: &Plan, courses: &mut [Course]) -> Vec<Arc<RelayEnd>> {
    let join = |relay: &anabranch_plan::Relay| {
        let next = &mut courses[relay.connection.index()];
        let end = Arc::new(RelayEnd::new(relay, data_of(next.packet), next.group.clone()));
        next.source = Some(end.clone());
        for (input, (id, _)) in relay.inputs.iter().enumerate() {
            let before = &mut courses[id.index()];
            let room = u64::from(before.quic_config.receive_window).min(relay.buffer.0);
            before.quic_config.receive_window = room as u32;
            before.sink = Some(Arc::new(Inlet::new(end.clone(), input, room)));
        }
        end
    };
    plan.relays.iter().map(join).collect()
}

/// A sender of a connection, with sockets in its host and in the host of the target.
fn sender(
    plan: &Plan,
    lab: &Lab,
    runtime: &Runtime,
    identity: &Arc<Identity>,
    (id, node, paths, ends): (ConnectionId, NodeId, Vec<usize>, Vec<(IpAddr, IpAddr)>),
) -> Result<Sender, SessionError> {
    let (target, is_markable) = (plan.demands.connections()[id.index()].target, plan.run.transport.ecn);
    let near = ends.iter().map(|(from, _)| SocketAddr::new(*from, 0).into()).collect();
    let far = ends.iter().map(|(_, to)| SocketAddr::new(*to, PORT).into()).collect();
    let host = |node| lab.host(node).expect("a path begins and ends at a host");
    let client = bind(host(node), runtime, near, move |sockets| Client::with(sockets.markable(is_markable)))?;
    let own = identity.clone();
    let make = move |sockets: Sockets| Server::with(sockets.markable(is_markable), &own);
    let server = bind(host(target), runtime, far, make)?;
    Ok(Sender { node, paths, ends, client, server })
}

/// All inputs of a connection's task.
fn course(
    plan: &Arc<Plan>,
    id: ConnectionId,
    start: Instant,
    (senders, trust): (Vec<Sender>, Trust),
    application: Option<Application>,
) -> Result<Course, Unsuited> {
    let (transfer, connection) = (&plan.transfers[id.index()], &plan.demands.connections()[id.index()]);
    let transport = plan.run.transport;
    let group = match application {
        Some(_) => Group::granted(FLOOR),
        None => group(plan, id)?,
    };
    let packet = packet_size(transfer.packet.0);
    let buffer = transport.buffer.map_or(u64::from(QuicConfig::default().receive_window), |buffer| buffer.0);
    let quic_config = QuicConfig {
        payload: u16::try_from(packet - OUTER).ok(),
        idle: Duration::from_secs_f64(plan.run.duration.seconds()) + BEYOND,
        acks: Some((transport.ack_every, Duration::from_secs_f64(transport.ack_delay.seconds()))),
        receive_window: u32::try_from(buffer).unwrap_or(u32::MAX),
        ..QuicConfig::default()
    };
    let paths = senders.iter().map(|sender| sender.paths.clone());
    let status = Arc::new(Status::new(connection.start, paths));
    let application = application.map(Arc::new);
    Ok(Course {
        plan: plan.clone(),
        id,
        start,
        senders,
        trust,
        group,
        application,
        quic_config,
        packet,
        status,
        source: None,
        sink: None,
    })
}

/// Creates the control of a connection under a protocol that keeps windows, over paths from one of its sources.
fn group(plan: &Plan, id: ConnectionId) -> Result<Arc<Group>, Unsuited> {
    let (transfer, connection) = (&plan.transfers[id.index()], &plan.demands.connections()[id.index()]);
    let demand = connection.demand.unwrap_or(Rate(f64::INFINITY));
    let protocol = &plan.protocols[transfer.protocol];
    Group::of(protocol, connection.claim(), demand, plan.run.transport.first_window)
}

/// Creates an endpoint in a host.
fn bind<T: Send + 'static>(
    host: &Host,
    runtime: &Runtime,
    locals: Vec<Local>,
    make: impl FnOnce(Sockets) -> Result<T, SessionError> + Send + 'static,
) -> Result<T, SessionError> {
    let handle = runtime.handle().clone();
    host.run(move || handle.block_on(async move { make(Sockets::bind(&locals).await?) }))
}

/// Takes samples until the end; false if `watch` ended the run early.
fn follow(
    plan: &Plan,
    samples: &Receiver<Sample>,
    all: &[Arc<Status>],
    recorder: &mut Recorder<'_>,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<bool, RunError> {
    let end = Time(plan.run.duration.0);
    let mut looked: Option<Instant> = None;
    let mut progress = Progress { time_s: 0.0, packets: 0 };
    while progress.time_s < end.seconds() {
        match samples.recv_timeout(LOOK) {
            Ok(sample) => {
                progress = Progress { time_s: sample.time.seconds(), packets: sample.hops };
                recorder.on_sample(&sample, all);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(RunError::Ended),
        }
        if let Some((c, reason)) = all.iter().enumerate().find_map(|(c, status)| Some((c, status.failure()?))) {
            return Err(RunError::Failed { name: plan.demands.connections()[c].name.clone(), reason });
        }
        if looked.is_none_or(|last| last.elapsed() >= LOOK) {
            looked = Some(Instant::now());
            if !watch(progress) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
