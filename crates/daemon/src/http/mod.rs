//! What an agent shows by HTTP: its state in JSON, its changes as events, figures for Prometheus, and a page.
//!
//! Nothing can be changed by it. [`routes::ROUTES`] is the one list of what is there: requests are answered by it, and
//! `/openapi.json` is made from it.

mod answers;
mod events;
mod handlers;
mod metrics;
mod rfc8345;
mod routes;
mod setting;
mod site;
mod topology;
mod why;

pub use setting::Http;
pub(crate) use site::Site;
