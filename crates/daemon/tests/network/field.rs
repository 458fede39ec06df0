//! The files of a small network of daemons on this machine.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;

use anabranch_daemon::{Config, Control, Daemon};
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

pub struct Field {
    pub folder: TempDir,
    pub issuer: Issuer,
    pub ports: Vec<u16>,
}

/// Ports that are free now.
fn free_ports(count: usize) -> Vec<u16> {
    let sockets: Vec<UdpSocket> = (0..count).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect()
}

impl Field {
    pub fn new() -> Self {
        let field =
            Self { folder: TempDir::new().unwrap(), issuer: Issuer::made("test").unwrap(), ports: free_ports(8) };
        fs::write(field.path("network.toml"), NETWORK).unwrap();
        fs::write(field.path("authority.pem"), field.issuer.certificate()).unwrap();
        field
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn address(&self, node: &str) -> SocketAddr {
        let place = NODES.iter().position(|(name, _)| *name == node).unwrap();
        SocketAddr::from(([127, 0, 0, 1], self.ports[2 * place]))
    }

    /// Writes the files of an agent.
    pub fn write(&self, node: &str, certificate_of: &Name, rest: &str) -> PathBuf {
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

    /// Writes the file of an agent with its own certificate.
    pub fn own(&self, node: &str, rest: &str) -> PathBuf {
        self.write(node, &Name::Agent(node.to_owned()), rest)
    }

    pub async fn start(&self, node: &str, rest: &str) -> (JoinHandle<()>, Control) {
        let daemon = Daemon::bind(Config::read(&self.own(node, rest)).unwrap()).await.unwrap();
        let control = daemon.control();
        (tokio::spawn(daemon.run()), control)
    }
}
