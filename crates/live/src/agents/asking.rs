//! A program that asks an agent on another machine, and waits for its answers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::lookup_host;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::hops::transport;
use super::messages::close;
use super::mutual::{Peers, Speech, calling};
use crate::quic::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, plain_reason};
use crate::security::Identity;
use crate::session::endpoint;
use crate::sockets::Sockets;

/// The longest line of an answer, in bytes.
const MOST_LINE: usize = 16 << 20;

/// The longest time for a line to be sent, and for the other end to hear of the end.
const PATIENCE: Duration = Duration::from_secs(5);
const FAREWELL: Duration = Duration::from_millis(200);

/// Time between two looks whether a call goes on.
const LOOK: Duration = Duration::from_millis(50);

/// What comes after a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A line, without its end.
    Line(String),
    /// Nothing yet.
    Silence,
    /// There are no more lines: why not, if the connection is lost.
    End(Option<String>),
}

/// A question to an agent, with its answers. Calls block; threads may share it.
#[derive(Debug)]
pub struct Asking {
    runtime: Option<Runtime>,
    endpoint: Endpoint,
    connection: Connection,
    reader: Mutex<(BufReader<RecvStream>, Vec<u8>)>,
    writer: Mutex<SendStream>,
}

impl Asking {
    /// Asks a question of the agent at `address` (`HOST:PORT`), and waits for a connection no longer than `most`, and as long
    /// as `goes_on` says.
    ///
    /// # Errors
    /// Returns an error if there is no such host, or no agent that is expected answers there.
    pub fn new(
        address: &str,
        identity: &Identity,
        who: Peers<()>,
        question: &str,
        most: Duration,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> io::Result<Self> {
        // Signs of life have to be sent while nobody calls.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let called = runtime.block_on(async {
            let called_off = async {
                while goes_on() {
                    sleep(LOOK).await;
                }
            };
            tokio::select! {
                called = call(address, identity, who, question) => called,
                () = sleep(most) => Err(io::Error::other(format!("no answer within {} s", most.as_secs_f64()))),
                () = called_off => Err(io::Error::other("it was called off")),
            }
        });
        let (endpoint, connection, writer, reader) = called?;
        let reader = Mutex::new((BufReader::new(reader), Vec::new()));
        Ok(Self { runtime: Some(runtime), endpoint, connection, reader, writer: Mutex::new(writer) })
    }

    /// The next line of the answer, if it comes in time.
    pub fn line(&self, most: Duration) -> Heard {
        let next = async {
            let (reader, line) = &mut *self.reader.lock().await;
            let rest = MOST_LINE.saturating_sub(line.len()) as u64;
            match reader.take(rest).read_until(b'\n', line).await {
                Ok(_) if line.pop_if(|byte| *byte == b'\n').is_some() => String::from_utf8(std::mem::take(line))
                    .map_or(Heard::End(Some("no UTF-8 comes".to_owned())), Heard::Line),
                Ok(_) if line.len() >= MOST_LINE => Heard::End(Some("a line has no end".to_owned())),
                Ok(_) => Heard::End(None),
                Err(error) => Heard::End(Some(self.lost(&error))),
            }
        };
        self.wait(async { timeout(most, next).await.unwrap_or(Heard::Silence) })
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    pub fn say(&self, line: &str) -> io::Result<()> {
        let text = format!("{line}\n");
        let say = async { self.writer.lock().await.write_all(text.as_bytes()).await };
        let said = self.wait(async { timeout(PATIENCE, say).await });
        said.map_err(io::Error::other)?.map_err(|error| io::Error::other(self.lost(&error.into())))
    }

    /// Ends the connection; who waits for a line hears of it.
    pub fn close(&self) {
        close(&self.connection, "it has ended");
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("it is there until this is dropped").block_on(work)
    }

    /// Why nothing comes any more.
    fn lost(&self, error: &io::Error) -> String {
        self.connection.close_reason().map_or_else(|| error.to_string(), |reason| plain_reason(&reason))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.close();
        let Some(runtime) = self.runtime.take() else { return };
        runtime.block_on(async { timeout(FAREWELL, self.endpoint.wait_idle()).await }).ok();
        runtime.shutdown_background();
    }
}

type Called = (Endpoint, Connection, SendStream, RecvStream);

async fn call(address: &str, identity: &Identity, who: Peers<()>, question: &str) -> io::Result<Called> {
    let remote = lookup_host(address).await?.next();
    let remote = remote.ok_or_else(|| io::Error::other("the name has no address"))?;
    let local = if remote.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let sockets = Sockets::bind(&[SocketAddr::new(local, 0).into()]).await.map_err(io::Error::other)?;
    let endpoint = endpoint(sockets, None).map_err(io::Error::other)?;
    let tls = calling(identity, Arc::new(who), Speech::Questions).map_err(io::Error::other)?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport()));
    let plain = |reason| io::Error::other(plain_reason(&reason));
    let connecting = endpoint.connect_with(config, remote, "anabranch").map_err(io::Error::other)?;
    let connection = connecting.await.map_err(plain)?;
    let (mut writer, reader) = connection.open_bi().await.map_err(plain)?;
    if let Err(error) = writer.write_all(format!("{question}\n").as_bytes()).await {
        // An agent that refuses a connection says why.
        return Err(connection.close_reason().map_or_else(|| error.into(), plain));
    }
    Ok((endpoint, connection, writer, reader))
}
