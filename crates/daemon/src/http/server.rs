//! The connections of the HTTP interface: their number, their size and their time have bounds.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::patient::Patient;
use super::setting::Http;
use super::site::Site;
use crate::changes::Change;
use crate::control::Control;

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

/// The socket of the HTTP interface.
pub(crate) struct Server {
    listener: TcpListener,
    setting: Http,
}

impl Server {
    /// Binds the socket.
    pub async fn bind(setting: Http) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(setting.listen).await?, setting })
    }

    /// What is told of it at the start.
    pub fn told(&self) -> Change {
        // Port 0 is any that is free.
        let address = self.listener.local_addr().unwrap_or(self.setting.listen);
        Change::Http { address, is_open: !address.ip().is_loopback() }
    }

    /// Answers requests as long as the agent runs.
    pub async fn serve(self, control: Control, page: Option<Arc<str>>) {
        let Self { listener, setting } = self;
        let site = Arc::new(Site::new(control, setting.hosts, page.as_deref()));
        let turns = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut tasks = JoinSet::new();
        loop {
            while tasks.try_join_next().is_some() {}
            let Ok(turn) = turns.clone().acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
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
async fn answer(stream: TcpStream, site: Arc<Site>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let site = site.clone();
        async move { Ok::<_, Infallible>(site.answer(&request).await) }
    });
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(MOST_HEAD);
    builder.max_buf_size(MOST_BYTES).max_headers(MOST_HEADERS);
    // An error is one of the other end, which has gone, stopped reading or speaks no HTTP.
    let _ = builder.serve_connection(TokioIo::new(Patient::new(stream, MOST_STALL)), service).await;
}
