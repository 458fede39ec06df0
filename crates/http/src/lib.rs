//! What programs show of themselves by HTTP: JSON, figures for Prometheus, and a page. Nothing can be changed by it.
//!
//! A program is a [`Site`]: it has one list of what can be asked for. The rest is here: connections whose number, size and
//! time have bounds, who may ask, what stands on every answer, and the description of the list (`OpenAPI`).

pub mod asked;
pub mod page;
pub mod problem;
pub mod prometheus;
pub mod routes;

mod answer;
mod front;
mod guard;
mod openapi;
mod patient;
mod room;
mod server;

pub use answer::{Body, HTML, JSON, json, whole};
pub use front::{Answered, Front, Site};
pub use server::Server;
