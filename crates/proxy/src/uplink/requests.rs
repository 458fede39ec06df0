//! Requests of a proxy to its exit.

use bytes::Bytes;
use h3::client::RequestStream;
use h3::ext::Protocol as Carried;
use http::{HeaderValue, Method, Request, Response, Uri, header};

use super::Exit;
use crate::bundle::greeting::{FLOW, Greeting, LINE, MARKS, Part};
use crate::exit::CONTROL;
use crate::http3::{Asking, BidiStream, CONNECT_IP};
use crate::ip::path;
use crate::packets::{self, CAPSULES};
use crate::target::{Host, Target};

/// A stream to an exit.
pub(crate) type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

/// Sends a request, and waits for the answer; nothing if the connection does not carry it.
pub(super) async fn ask(asking: &mut Asking, request: Request<()>) -> Option<(Stream, Response<()>)> {
    let mut stream = asking.send_request(request).await.ok()?;
    let answer = stream.recv_response().await.ok()?;
    Some((stream, answer))
}

impl Exit {
    /// The first request on a connection: shows the token, and says which line this is and whether its control counts marks.
    pub(super) fn greeting(&self, line: Greeting, counts_marks: bool) -> Request<()> {
        let mut request = self.request(Method::OPTIONS, &self.authority());
        request.headers_mut().insert(LINE, plain(&line.write()));
        if counts_marks {
            request.headers_mut().insert(MARKS, HeaderValue::from_static("?1"));
        }
        request
    }

    /// The request for a subflow to a target.
    pub(super) fn request_for_part(&self, target: &Target, part: Part) -> Request<()> {
        let mut request = self.request(Method::CONNECT, &target.to_string());
        request.headers_mut().insert(FLOW, plain(&part.write()));
        request
    }

    /// The request for packets to and from a target.
    pub(super) fn request_for_packets(&self, target: &Target) -> Request<()> {
        let uri = Uri::builder().scheme("https").authority(self.authority()).path_and_query(packets::path(target));
        let uri = uri.build().expect("targets are written as parts of paths");
        let mut request = self.request(Method::CONNECT, "exit");
        *request.uri_mut() = uri;
        request.extensions_mut().insert(Carried::CONNECT_UDP);
        request.headers_mut().insert(CAPSULES.0, HeaderValue::from_static(CAPSULES.1));
        request
    }

    /// The request for IP packets to and from all addresses.
    pub(super) fn request_for_ip(&self, part: Part) -> Request<()> {
        let uri = Uri::builder().scheme("https").authority(self.authority()).path_and_query(path::ALL);
        let mut request = self.request(Method::CONNECT, "exit");
        *request.uri_mut() = uri.build().expect("the path is a constant");
        request.extensions_mut().insert(CONNECT_IP);
        request.headers_mut().insert(CAPSULES.0, HeaderValue::from_static(CAPSULES.1));
        request.headers_mut().insert(FLOW, plain(&part.write()));
        request
    }

    /// The name or address of the exit, as requests to itself have it.
    fn authority(&self) -> String {
        Host::parse(&self.url.host).map_or_else(|_| "exit".to_owned(), |host| host.to_string())
    }

    fn request(&self, method: Method, authority: &str) -> Request<()> {
        let uri = Uri::builder().authority(authority);
        let uri = if method == Method::CONNECT { uri } else { uri.scheme("https").path_and_query("/") };
        let uri = uri.build().expect("targets are written as authorities");
        let request = Request::builder().method(method).uri(uri);
        let request = match &self.token {
            Some(token) => request.header(header::PROXY_AUTHORIZATION, token.header()),
            None => request,
        };
        request.header(CONTROL, &self.control).body(()).expect("tokens and names of controls are plain")
    }
}

/// The header with a text of digits and letters.
pub(crate) fn plain(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("it is made of digits and letters")
}
