//! What an agent shows by HTTP: its state in JSON, its changes as events, figures for Prometheus, and a page.
//!
//! Nothing can be changed by it. [`routes::ROUTES`] is the one list of what is there: requests are answered by it, and
//! `/openapi.json` is made from it.

mod answers;
mod asked;
mod events;
mod guard;
mod handlers;
mod metrics;
mod openapi;
mod page;
mod patient;
mod problem;
mod prometheus;
mod rfc8345;
mod room;
mod routes;
mod server;
mod setting;
mod site;
mod topology;
mod why;

pub(crate) use server::Server;
pub use setting::Http;
