//! Agents that speak for links, over real connections in a lab: what is granted is what is fair, whoever comes, goes or
//! ends without a word.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_agents::{AgentId, Ask, LinkSettings, Settings, Step};
use anabranch_core::{LinkId, NodeId, Rate, Span};
use anabranch_emulator::{Lab, Options};
use anabranch_live::agents::{
    AgentHandle, AgentServer, Application, Call, Door, Guest, LEASE, Lease, Peer, Peers, Request, Service, Trusting,
};
use anabranch_live::security::Identity;
use anabranch_live::sockets::Sockets;
use anabranch_plan::Plan;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::lab::{plan, punctual, turn};

/// Two paths of 20 and 50 Mbit/s, of which agents hand out 97 in 100; A takes both, B the first from 4 s to 8 s. One in
/// fifty control packets is lost on each link.
const JOIN_AND_LEAVE: &str = r#"
[defaults.link]
queue = "100 packets"
control_faults = { loss = 0.02 }
[defaults.connection]
protocol = "d-slen"
packet = "1500 bytes"
[[link]]
name = "slow"
source = "a"
target = "b"
capacity = "20 Mbit/s"
delay = "5 ms"
[[link]]
name = "fast"
source = "a"
target = "b"
capacity = "50 Mbit/s"
delay = "5 ms"
[[link]]
name = "on"
source = "b"
target = "c"
capacity = "100 Mbit/s"
delay = "5 ms"
[[connection]]
name = "A"
source = "a"
target = "c"
links = [["slow", "on"], ["fast", "on"]]
stop = "11.5 s"
[[connection]]
name = "B"
source = "a"
target = "c"
links = [["slow", "on"]]
start = "4 s"
stop = "8 s"
[run]
duration = "12.5 s"
sample = "100 ms"
record = ["connections", "subflows", "links"]
"#;

/// The mean over samples from one time to another of one of so many columns, in Mbit/s.
fn mean(times: &[f64], column: &[f64], (place, columns): (usize, usize), (from, to): (f64, f64)) -> f64 {
    let rows = (0..times.len()).filter(|&row| from < times[row] && times[row] <= to);
    let values: Vec<f64> = rows.map(|row| column[row * columns + place] / 1e6).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn who_joins_and_leaves_gets_what_is_fair_and_no_packet_is_lost() {
    let Some(outcome) = punctual(JOIN_AND_LEAVE) else { return };
    let samples = &outcome.samples;
    // Upward max-min of 19.4 and 48.5: A alone has both. While B is there it has all of the first, for A has more anyway.
    let alone = [19.4, 48.5, 0.0];
    for (window, fair) in [((1.5, 4.0), alone), ((5.5, 7.95), [0.0, 48.5, 19.4]), ((9.0, 11.45), alone)] {
        for (subflow, fair) in fair.into_iter().enumerate() {
            let granted = mean(&samples.time_s, &samples.subflow_granted_bps, (subflow, 3), window);
            let delivered = mean(&samples.time_s, &samples.subflow_delivered_bps, (subflow, 3), window);
            // A path may always send 64 kbit/s.
            assert!(
                (granted - fair).abs() <= 0.01 * fair + 0.07,
                "{window:?} {subflow}: granted {granted}, not {fair}"
            );
            // A path does not make up for a moment in which this machine halts: windows are long enough for 50 ms of it.
            assert!((delivered - fair).abs() <= 0.02 * fair + 0.07, "{window:?} {subflow}: {delivered} of {fair} came");
        }
    }
    assert_eq!(outcome.subflows.iter().map(|subflow| subflow.count.lost).sum::<u64>(), 0, "no queue was full");
    let agents = outcome.agents.unwrap();
    assert!(agents.is_clear && agents.counts.counted > 1000, "{agents:?}");
    assert_eq!((agents.agents, agents.counts.stale, agents.counts.lost), (3, 0, 0), "what was lost was sent again");
}

/// Two applications at `a` that send to `c`, behind the agent of `b`.
const ROW: &str = r#"
[[link]]
name = "ab"
source = "a"
target = "b"
capacity = "50 Mbit/s"
delay = "5 ms"
[[link]]
name = "bc"
source = "b"
target = "c"
capacity = "20 Mbit/s"
delay = "5 ms"
[[connection]]
source = "a"
target = "c"
protocol = "d-slen"
"#;

/// The agents of a row of nodes in a lab, each on threads of its own.
struct Field {
    plan: Plan,
    lab: Lab,
    identities: Vec<Arc<Identity>>,
    agents: Vec<(Runtime, AgentHandle)>,
    applications: Arc<Identity>,
}

const DOOR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4435);

fn threads() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

impl Field {
    fn start() -> Self {
        let plan = plan(ROW);
        let lab = Lab::start(&plan, Options { hops: true, ..Options::default() }).unwrap();
        let identities = lab.hosts().iter().map(|_| Arc::new(Identity::made().unwrap())).collect();
        let applications = Arc::new(Identity::made().unwrap());
        let mut field = Self { plan, lab, identities, agents: Vec::new(), applications };
        field.agents = (0..3).map(|node| field.agent(node, 1)).collect();
        field
    }

    /// Starts the agent of a node.
    fn agent(&self, node: u32, epoch: u64) -> (Runtime, AgentHandle) {
        let link = |link: u32| {
            let capacity = self.plan.network.link(LinkId(link)).capacity;
            LinkSettings::new(link, AgentId(node + 1), capacity)
        };
        let (mut calls, mut doors, mut neighbours) = (Vec::new(), Vec::new(), Vec::new());
        for (place, hop) in self.lab.hops().iter().enumerate() {
            let (from, to) = self.lab.addresses_of_hop(place);
            let (from, to) = (SocketAddr::new(from, 4434), SocketAddr::new(to, 0));
            let pin = |node: NodeId| Peer::Pinned(self.identities[node.index()].fingerprint());
            if hop.from.0 == node {
                let id = AgentId(hop.to.0);
                neighbours.push(id);
                doors.push(Door { local: from, guests: Peers::one(None, pin(hop.to), Guest::Neighbour(id)) });
            } else if hop.to.0 == node {
                let id = AgentId(hop.from.0);
                neighbours.push(id);
                calls.push(Call { id, local: to, remote: from, who: Peers::one(None, pin(hop.from), ()) });
            }
        }
        let application = Peer::Pinned(self.applications.fingerprint());
        doors.push(Door { local: DOOR, guests: Peers::one(None, application, Guest::Application(String::new())) });
        let names: Vec<&str> = self.plan.network.links().iter().map(|link| link.name.as_str()).collect();
        let number = |name: &str| names.iter().position(|known| *known == name).unwrap() as u32;
        let settings = Settings {
            links: ["ab", "bc"].get(node as usize).map(|name| link(number(name))).into_iter().collect(),
            neighbours,
            gap: Span::ms(1),
            lease: Span(LEASE.as_nanos() as u64 * 1000),
            has_run: epoch > 1,
            ..Settings::new(AgentId(node), epoch, self.plan.protocols.clone())
        };
        let identity = self.identities[node as usize].clone();
        let service = Service { settings, identity, calls, doors };
        let runtime = threads();
        let handle = runtime.handle().clone();
        let (server, agent) = self
            .lab
            .host(NodeId(node))
            .unwrap()
            .run(move || handle.block_on(AgentServer::bind(service, Box::new(Trusting))))
            .unwrap();
        runtime.spawn(server.run());
        (runtime, agent)
    }

    /// Starts an application at `a`.
    fn application(&self) -> (Runtime, Arc<Lease>, watch::Sender<bool>) {
        self.application_of(self.applications.clone())
    }

    /// The same for one with this certificate.
    fn application_of(&self, identity: Arc<Identity>) -> (Runtime, Arc<Lease>, watch::Sender<bool>) {
        let steps = self.plan.paths.path(0).iter();
        let steps = steps.map(|&link| Step { agent: AgentId(self.plan.network.link(link).source.0), link: link.0 });
        let paths = vec![(steps.collect(), AgentId(2))];
        let join = Ask::Join { protocol: 0, claim: 1.0, reserved: 0.0, demand: f64::INFINITY, paths };
        let lease = Arc::new(Lease::new(1, LEASE));
        let (leave, hears_leave) = watch::channel(false);
        let (_, demand) = watch::channel(Rate(f64::INFINITY));
        let runtime = threads();
        let (handle, pin) = (runtime.handle().clone(), self.identities[0].fingerprint());
        let own = lease.clone();
        let application = self.lab.host(NodeId(0)).unwrap().run(move || {
            handle.block_on(async move {
                let sockets = Sockets::bind(&[SocketAddr::new(DOOR.ip(), 0).into()]).await.unwrap();
                Application::with(sockets, &identity, DOOR, Peers::one(None, Peer::Pinned(pin), ())).unwrap()
            })
        });
        runtime.spawn(async move { application.hold(Request { join, demand, leave: hears_leave }, &own).await });
        (runtime, lease, leave)
    }

    fn is_clear(&self) -> bool {
        let report = |agent: &(Runtime, AgentHandle)| agent.0.block_on(agent.1.report()).unwrap();
        self.agents.iter().all(|agent| report(agent).is_clear)
    }
}

/// How long it takes until `is_so`, at most so many seconds; the rates of all are looked at again and again meanwhile.
fn await_it(leases: &[&Lease], seconds: f64, is_so: impl Fn(&[f64]) -> bool) -> f64 {
    let start = Instant::now();
    loop {
        let rates: Vec<f64> = leases.iter().map(|lease| lease.told()[0].0 / 1e6).collect();
        assert!(
            rates.iter().all(|rate| (0.0..=20.0).contains(rate)),
            "no grant is more than the link carries: {rates:?}"
        );
        if is_so(&rates) {
            return start.elapsed().as_secs_f64();
        }
        assert!(start.elapsed().as_secs_f64() < seconds, "{rates:?} after {seconds} s");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn near(rate: f64, wanted: f64) -> bool {
    (rate - wanted).abs() < 0.01 * wanted
}

#[test]
fn an_application_or_an_agent_that_ends_without_a_word_costs_a_few_rounds() {
    let Some(_turn) = turn() else { return };
    let mut field = Field::start();
    let (first, lease, leave) = field.application();
    let (second, other, _never) = field.application();
    await_it(&[&lease, &other], 5.0, |rates| rates.iter().all(|&rate| near(rate, 10.0)));

    // The second is gone; no packet says so. Rounds take 20 ms, and this machine may have other things to do.
    second.shutdown_background();
    let took = await_it(&[&lease], LEASE.as_secs_f64() + 1.0, |rates| near(rates[0], 20.0));
    println!("what an application had is free {took:.2} s after its end");

    // The agent in the middle is gone and comes back: whoever had joined joins again, and nobody is told more than before.
    let (agent, _) = field.agents.remove(1);
    agent.shutdown_background();
    std::thread::sleep(Duration::from_millis(100));
    field.agents.insert(1, field.agent(1, 2));
    let (third, another, leave_too) = field.application();
    let took = await_it(&[&lease, &another], 5.0, |rates| rates.iter().all(|&rate| near(rate, 10.0)));
    println!("rates are fair {took:.2} s after an agent came back");

    leave.send(true).unwrap();
    leave_too.send(true).unwrap();
    await_it(&[], 5.0, |_| lease.has_left() && another.has_left());
    await_it(&[], 1.0, |_| field.is_clear());
    let counts = field.agents[0].0.block_on(field.agents[0].1.report()).unwrap().counts;
    assert_eq!(counts.renewals, 1, "{counts:?}");
    drop((first, third));
    field.agents.into_iter().for_each(|(runtime, _)| runtime.shutdown_background());
}

#[test]
fn strangers_and_noise_get_nothing_and_harm_nobody() {
    let Some(_turn) = turn() else { return };
    let field = Field::start();
    let (_first, lease, _stay) = field.application();
    let (_stranger, nothing, _stay_too) = field.application_of(Arc::new(Identity::made().unwrap()));
    let (from, to) = field.lab.addresses_of_hop(0);
    field.lab.host(NodeId(1)).unwrap().run(move || {
        let socket = std::net::UdpSocket::bind((to, 0)).unwrap();
        for number in 0..20_000u32 {
            // Bytes of all kinds, with the first bits of a long and of a short header of QUIC among them.
            let bytes: Vec<u8> =
                (0..200).map(|place: u32| (number.wrapping_mul(2_654_435_761) >> (place % 24)) as u8).collect();
            let _ = socket.send_to(&bytes, (from, 4434));
        }
    });
    await_it(&[&lease], 5.0, |rates| near(rates[0], 20.0));
    assert_eq!(nothing.told(), [Rate(0.0)], "a certificate that the agent does not know is worth nothing");
}
