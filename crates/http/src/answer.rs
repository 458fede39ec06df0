//! Answers: their bodies and their media types.

use std::convert::Infallible;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::problem::Problem;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Media types.
pub const JSON: &str = "application/json";
#[allow(missing_docs)]
pub const HTML: &str = "text/html; charset=utf-8";

/// An answer that is whole.
pub fn whole(kind: &'static str, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A value in JSON.
///
/// # Errors
/// If it cannot be written in JSON.
pub fn json(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("it cannot be written: {error}")))
}
