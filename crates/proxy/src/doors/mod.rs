//! Where applications come in: SOCKS, HTTP, and connections that the kernel redirects.

mod associate;
mod http;
mod socks;
#[cfg(target_os = "linux")]
mod transparent;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::uplink::Uplink;

/// The most connections of applications at a time, over all doors.
const MOST_CONNECTIONS: usize = 4096;

/// The longest wait for an application to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause after an error of a listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// What a door speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SOCKS 5.
    Socks,
    /// HTTP with CONNECT.
    Http,
    /// Nothing: this machine redirects connections there. On Linux only.
    Transparent,
}

/// A door to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// What is spoken there.
    pub kind: Kind,
    /// Local address; port 0 selects any free port.
    pub address: SocketAddr,
    /// Name and password that applications have to show.
    pub password: Option<Password>,
}

/// A name and a password of applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Password {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl Password {
    /// Whether a name and a password are these. How long a comparison takes says nothing of them.
    fn accepts(&self, name: &[u8], password: &[u8]) -> bool {
        let own = digest(&SHA256, &[self.name.as_bytes(), b":", self.password.as_bytes()].concat());
        let shown = digest(&SHA256, &[name, b":", password].concat());
        own.as_ref() == shown.as_ref()
    }
}

/// The reason why a door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// Everybody could use the proxy.
    #[error(
        "everybody who reaches {0} could use this proxy; listen at 127.0.0.1 or ask for a name and a password by `--password-file`"
    )]
    Open(SocketAddr),
    /// The kernel tells nobody where a connection was to go.
    #[error("connections are redirected to a proxy on Linux alone; use SOCKS or HTTP here")]
    NotHere,
    /// The kernel refuses the address.
    #[error("cannot listen at {address}: {error}; choose another address or port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Error of the kernel.
        error: std::io::Error,
    },
}

/// An open door.
pub(crate) struct Opened {
    pub kind: Kind,
    pub address: SocketAddr,
    listener: TcpListener,
    password: Option<Password>,
}

impl Door {
    /// Opens the door.
    ///
    /// # Errors
    /// If everybody could come in, or the address cannot be used.
    pub(crate) async fn open(self) -> Result<Opened, DoorError> {
        let Self { kind, address, password } = self;
        let is_redirected = kind == Kind::Transparent;
        if is_redirected && cfg!(not(target_os = "linux")) {
            return Err(DoorError::NotHere);
        }
        if password.is_none() && !is_redirected && !address.ip().to_canonical().is_loopback() {
            return Err(DoorError::Open(address));
        }
        let refused = |error| DoorError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        #[cfg(target_os = "linux")]
        if is_redirected {
            transparent::open(&listener);
        }
        Ok(Opened { kind, address, listener, password })
    }
}

/// Lets applications in through all doors; does not return.
pub(crate) async fn let_in(doors: Vec<Opened>, uplink: Uplink) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut open = JoinSet::new();
    for door in doors {
        open.spawn(answer(door, uplink.clone(), room.clone()));
    }
    while open.join_next().await.is_some() {}
}

async fn answer(door: Opened, uplink: Uplink, room: Arc<Semaphore>) {
    let password = Arc::new(door.password);
    // What is left of an application when the proxy ends, ends with it.
    let mut served = JoinSet::new();
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        let accepted = loop {
            tokio::select! {
                accepted = door.listener.accept() => break accepted,
                Some(_) = served.join_next() => {}
            }
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (uplink, password, kind, address) = (uplink.clone(), password.clone(), door.kind, door.address);
        served.spawn(async move {
            // Small pieces do not wait for others.
            let _ = stream.set_nodelay(true);
            serve((kind, address.port()), stream, &uplink, password.as_ref().as_ref()).await;
            drop(permit);
        });
    }
}

async fn serve((kind, port): (Kind, u16), stream: TcpStream, uplink: &Uplink, password: Option<&Password>) {
    match kind {
        Kind::Socks => socks::serve(stream, uplink, password).await,
        Kind::Http => http::serve(stream, uplink, password).await,
        #[cfg(target_os = "linux")]
        Kind::Transparent => transparent::serve(stream, port, uplink).await,
        #[cfg(not(target_os = "linux"))]
        Kind::Transparent => drop((stream, port)),
    }
}
