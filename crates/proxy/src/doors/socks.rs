//! The door for SOCKS 5.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{PATIENCE, Password, associate};
use crate::socks::{
    MOST_MESSAGE, Method, Reply, Request, SocksError, read_methods, read_password, read_request, write_accepted,
    write_method, write_reply,
};
use crate::unreached::Unreached;
use crate::uplink::Uplink;

/// The address in answers: what the exit uses is its own affair.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// Serves an application.
pub(super) async fn serve(mut stream: TcpStream, uplink: &Uplink, password: Option<&Password>) {
    let mut bytes = BytesMut::new();
    let Ok(Some(request)) = timeout(PATIENCE, agree(&mut stream, &mut bytes, password)).await else { return };
    let target = match request {
        Request::Connect(target) => target,
        Request::Associate => {
            // Without a socket nothing can be sent.
            if associate::serve(&mut stream, uplink).await.is_err() {
                refuse(&mut stream, Reply::Failed).await;
            }
            return;
        }
        Request::Other(_) => return refuse(&mut stream, Reply::NotServed).await,
    };
    match uplink.open(&target).await {
        Ok(tunnel) => {
            if stream.write_all(&write_reply(Reply::Succeeded, NOWHERE)).await.is_err() {
                return;
            }
            // What came with the request is for the target.
            tunnel.send_first(bytes.freeze());
            tunnel.join(stream).await;
        }
        Err(reason) => refuse(&mut stream, Unreached::reply(reason)).await,
    }
}

async fn refuse(stream: &mut TcpStream, reply: Reply) {
    // An application that has gone needs no answer.
    if stream.write_all(&write_reply(reply, NOWHERE)).await.is_ok() {
        let _ = stream.shutdown().await;
    }
}

/// Agrees on a method, and reads the request; nothing if the application leaves or breaks the rules.
async fn agree(stream: &mut TcpStream, bytes: &mut BytesMut, password: Option<&Password>) -> Option<Request> {
    let offered = next(stream, bytes, read_methods).await?;
    let method = if password.is_some() { Method::Password } else { Method::None };
    if !offered.contains(&(method as u8)) {
        let _ = stream.write_all(&write_method(Method::Unacceptable)).await;
        return None;
    }
    stream.write_all(&write_method(method)).await.ok()?;
    if let Some(own) = password {
        let (name, shown) = next(stream, bytes, read_password).await?;
        let is_accepted = own.accepts(&name, &shown);
        stream.write_all(&write_accepted(is_accepted)).await.ok()?;
        if !is_accepted {
            return None;
        }
    }
    next(stream, bytes, read_request).await
}

/// Reads the next message; nothing if the application leaves or breaks the rules, of which it is told where SOCKS can.
async fn next<T>(
    stream: &mut TcpStream,
    bytes: &mut BytesMut,
    read: impl Fn(&[u8]) -> Result<Option<(T, usize)>, SocksError>,
) -> Option<T> {
    loop {
        match read(bytes) {
            Ok(Some((message, used))) => {
                bytes.advance(used);
                return Some(message);
            }
            Ok(None) if bytes.len() > MOST_MESSAGE => return None,
            Ok(None) => {}
            Err(SocksError::Version(_)) => return None,
            Err(SocksError::Kind(_)) => {
                refuse(stream, Reply::WrongAddress).await;
                return None;
            }
            Err(SocksError::Target) => {
                refuse(stream, Reply::NoHost).await;
                return None;
            }
        }
        if stream.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}
