//! What is wrong with a request, as problem details of RFC 9457.

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

/// What is wrong with a request (RFC 9457).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Problem {
    /// The kind of problem: `about:blank`, so that the status says it.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong, and what would do.
    pub detail: String,
}

impl Problem {
    /// A problem with a status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        Self { kind: "about:blank", title, status: status.as_u16(), detail: detail.into() }
    }

    /// A request that cannot be understood.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Something that is not there.
    pub fn absent(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }
}
