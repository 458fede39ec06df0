//! Daemons of a small network on this machine: they read files, find each other, and grant rates.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anabranch_agents::SessionView;
use anabranch_daemon::{Config, Daemon};
use anabranch_live::agents::{AgentHandle, AgentReport};
use anabranch_live::authority::{Issuer, Name};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// A diamond with two ways from a to d.
const NETWORK: &str = r#"
[run]
duration = "1 s"

[[link]]
source = "a"
target = "b"
capacity = "20 Mbit/s"
two_way = true

[[link]]
source = "b"
target = "d"
capacity = "20 Mbit/s"
two_way = true

[[link]]
source = "a"
target = "c"
capacity = "30 Mbit/s"
two_way = true

[[link]]
source = "c"
target = "d"
capacity = "30 Mbit/s"
two_way = true
"#;

const NODES: [(&str, [&str; 2]); 4] = [("a", ["b", "c"]), ("b", ["a", "d"]), ("c", ["a", "d"]), ("d", ["b", "c"])];

struct Field {
    folder: TempDir,
    issuer: Issuer,
    ports: Vec<u16>,
}

/// Ports that are free now.
fn free_ports(count: usize) -> Vec<u16> {
    let sockets: Vec<UdpSocket> = (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect()
}

impl Field {
    fn new() -> Self {
        let field =
            Self { folder: TempDir::new().unwrap(), issuer: Issuer::made("test").unwrap(), ports: free_ports(8) };
        fs::write(field.path("network.toml"), NETWORK).unwrap();
        fs::write(field.path("authority.pem"), field.issuer.certificate()).unwrap();
        field
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(&self, node: &str) -> SocketAddr {
        let place = NODES.iter().position(|(name, _)| *name == node).unwrap();
        SocketAddr::from(([127, 0, 0, 1], self.ports[2 * place]))
    }

    /// Writes the files of an agent.
    fn write(&self, node: &str, certificate_of: &Name, rest: &str) -> PathBuf {
        let issued = self.issuer.issue(certificate_of, 30).unwrap();
        fs::write(self.path(&format!("{node}.pem")), issued.certificate + &issued.key).unwrap();
        let place = NODES.iter().position(|(name, _)| *name == node).unwrap();
        let [one, other] = NODES[place].1;
        let around = format!("{one} = \"{}\"\n{other} = \"{}\"\n", self.address(one), self.address(other));
        let path = self.path(&format!("{node}.toml"));
        let text = format!(
            "node = \"{node}\"\nnetwork = \"network.toml\"\nlisten = \"{}\"\napplications = \"127.0.0.1:{}\"\n\
             state = \"state-{node}\"\nauthority = \"authority.pem\"\ncertificate = \"{node}.pem\"\nshare = 1.0\n\
             {rest}\n[neighbours]\n{around}",
            self.address(node),
            self.ports[2 * place + 1]
        );
        fs::write(&path, text).unwrap();
        path
    }

    async fn start(&self, node: &str, rest: &str) -> (JoinHandle<()>, AgentHandle) {
        let path = self.write(node, &Name::Agent(node.to_owned()), rest);
        let daemon = Daemon::bind(Config::read(&path).unwrap()).await.unwrap();
        let handle = daemon.handle();
        (tokio::spawn(daemon.run()), handle)
    }
}

async fn report(handle: &AgentHandle) -> AgentReport {
    handle.report().await.expect("it runs")
}

/// The rates of a session in Mbit/s, without those of paths that do not work.
fn rates(session: &SessionView) -> Vec<f64> {
    session.rates.iter().map(|rate| rate.map_or(0.0, |rate| rate.0 / 1e6)).collect()
}

/// Waits until the sessions of an agent have these rates in all.
async fn settles(handle: &AgentHandle, wanted: &[f64], seconds: f64) -> f64 {
    let start = Instant::now();
    loop {
        let sessions = report(handle).await.view.sessions;
        let sums: Vec<f64> = sessions.iter().map(|session| rates(session).iter().sum()).collect();
        let near = |(rate, wanted): (&f64, &f64)| (rate - wanted).abs() < 0.01 * wanted + 0.001;
        if sums.len() == wanted.len() && sums.iter().zip(wanted).all(near) {
            return start.elapsed().as_secs_f64();
        }
        assert!(start.elapsed().as_secs_f64() < seconds, "{sums:?}, not {wanted:?}, after {seconds} s");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

const SESSIONS: &str = "[[session]]\nname = \"one\"\nto = \"d\"\n[[session]]\nname = \"two\"\nto = \"b\"\npaths = 1\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemons_grant_rates_lose_one_and_take_it_back() {
    let field = Field::new();
    let (a, handle) = field.start("a", SESSIONS).await;
    let b = field.start("b", "").await.0;
    let (c, _) = field.start("c", "").await;
    let d = field.start("d", "").await.0;
    // "one" has 30 over c; what it could have over b is level with "two" only where that has 20.
    settles(&handle, &[30.0, 20.0], 10.0).await;
    let state = field.path("state-a");
    let shown = tokio::task::spawn_blocking(move || anabranch_daemon::ask(&state, "show")).await.unwrap().unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["node"], &shown["neighbours"][1]["state"]), (&"a".into(), &"up".into()));
    assert!((shown["sessions"][0]["rate_bps"].as_f64().unwrap() - 30e6).abs() < 1e6, "{shown}");
    assert_eq!(shown["links"].as_array().unwrap().len(), 2);
    // Without c both share the link to b, or "one" has none of it: 10 each.
    c.abort();
    let took = settles(&handle, &[10.0, 10.0], 6.0).await;
    assert!(took < 4.0, "it took {took} s to do without an agent");
    let (c, other) = field.start("c", "").await;
    settles(&handle, &[30.0, 20.0], 10.0).await;
    // All leave with their agent; the others hold nothing.
    a.abort();
    let start = Instant::now();
    while !report(&other).await.is_clear {
        assert!(start.elapsed() < Duration::from_secs(6), "something stays behind");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    [b, c, d].iter().for_each(JoinHandle::abort);
}

#[tokio::test]
async fn a_certificate_of_another_is_refused_at_the_start() {
    let field = Field::new();
    for (name, said) in [
        (Name::Agent("b".to_owned()), ", but of the agent `b`"),
        (Name::Application("a".to_owned()), ", but of the application `a`"),
    ] {
        let config = Config::read(&field.write("a", &name, "")).unwrap();
        let error = Daemon::bind(config).await.err().unwrap().to_string();
        assert!(error.contains("not a certificate of the agent `a`") && error.ends_with(said), "{error}");
    }
}

#[test]
fn mistakes_in_a_configuration_are_named_with_what_would_do() {
    let field = Field::new();
    let own = Name::Agent("a".to_owned());
    let path = field.write("a", &own, "");
    let good = fs::read_to_string(&path).unwrap();
    assert!(Config::read(&path).is_ok());
    let cases = [
        ("node = \"a\"", "node = \"e\"", "node: there is no node `e`"),
        ("share = 1.0", "share = 1.5", "share: it is 1.5; it must be more than 0 and at most 1"),
        ("share = 1.0", "shear = 1.0", "unknown field `shear`"),
        ("share = 1.0", "protocol = \"reno\"", "protocol: agents do not carry the packets of `reno`"),
        ("b = \"", "e = \"", "neighbours: no link joins `a` and `e`"),
        ("[neighbours]", "[[session]]\nname = \"x\"\nto = \"q\"\n[neighbours]", "session `x`: there is no node `q`"),
        ("[neighbours]", "[[session]]\nname = \"x\"\nto = \"a\"\n[neighbours]", "it ends where it begins"),
        ("[neighbours]", "[links]\n\"a-d\" = {}\n[neighbours]", "links: no link `a-d` leaves `a`"),
        ("[neighbours]", "[links]\n\"a-b\" = { claims = -1 }\n[neighbours]", "claims must be a number from 0 on"),
        (
            "[neighbours]",
            "[[application]]\nname = \"x\"\nto = [\"z\"]\n[neighbours]",
            "application `x`: there is no node `z`",
        ),
        ("network.toml", "nothing.toml", "No such file"),
    ];
    for (old, new, said) in cases {
        assert!(good.contains(old), "{old}");
        fs::write(&path, good.replacen(old, new, 1)).unwrap();
        let error = Config::read(&path).unwrap_err().to_string();
        assert!(error.contains(said), "{new}: {error}");
        let file = if new == "nothing.toml" { new } else { "a.toml" };
        assert!(error.starts_with(&Path::new(field.folder.path()).join(file).display().to_string()), "{error}");
    }
    let without = good.lines().filter(|line| !line.starts_with("b = ")).collect::<Vec<_>>().join("\n");
    fs::write(&path, without).unwrap();
    let error = Config::read(&path).unwrap_err().to_string();
    assert!(error.contains("there is no address of `b`; write one, such as \"b\" = \"192.0.2.7:4434\""), "{error}");
}
