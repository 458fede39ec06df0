//! The connections of the HTTP interface: their number, their size and their time have bounds.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::front::Site;
use crate::patient::Patient;

/// The most connections at a time; others wait until one ends.
const MOST_CONNECTIONS: usize = 256;

/// The longest time until a request is there, from the begin of the connection or the last answer on.
const MOST_HEAD: Duration = Duration::from_secs(5);

/// The longest time that an answer waits for its reader to read some of it.
const MOST_STALL: Duration = Duration::from_secs(20);

/// The most bytes of the head of a request, and the most headers in it.
const MOST_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// Time after an error of the socket, such as too many open files.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// A socket at which a site is served.
pub struct Server(TcpListener);

impl Server {
    /// Binds the socket.
    ///
    /// # Errors
    /// If the system refuses it.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        TcpListener::bind(address).await.map(Self)
    }

    /// The address, whose port is that which was free if any was asked for.
    ///
    /// # Errors
    /// If the system does not say it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Answers requests until it is dropped.
    pub async fn serve(self, site: impl Site) {
        let site = Arc::new(site);
        let turns = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            let Ok(turn) = turns.clone().acquire_owned().await else { return };
            let Ok((stream, _)) = self.0.accept().await else {
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            };
            let site = site.clone();
            tasks.spawn(async move {
                answer(stream, site).await;
                drop(turn);
            });
        }
    }
}

/// Answers the requests of a connection.
async fn answer(stream: TcpStream, site: Arc<impl Site>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let site = site.clone();
        async move { Ok::<_, Infallible>(site.front().answer(&*site, &request).await) }
    });
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(MOST_HEAD);
    builder.max_buf_size(MOST_BYTES).max_headers(MOST_HEADERS);
    // An error is one of the other end, which has gone, stopped reading or speaks no HTTP.
    let _ = builder.serve_connection(TokioIo::new(Patient::new(stream, MOST_STALL)), service).await;
}
