//! What an agent's applications may ask, and the paths that their sessions take.

use anabranch_agents::{AgentId, Ask, ClientId, Refusal};

/// Decides about the requests of applications, before the agent hears of them.
pub trait Policy: Send {
    /// The request as the agent is to handle it.
    ///
    /// # Errors
    /// Returns the reason why the request is refused, and whether it would be refused later.
    fn admit(&mut self, application: &str, client: ClientId, ask: Ask) -> Result<Ask, Refusal>;

    /// Takes note of the capacity of a link, from the agent that acts for it: 0 if the link is down. Returns whether
    /// sessions may have to take other paths; [`Self::reroute`] follows, after more such news if they come at once.
    fn on_link(&mut self, agent: AgentId, link: u32, capacity: f64) -> bool;

    /// Requests for sessions that have to take other paths.
    fn reroute(&mut self) -> Vec<(ClientId, Ask)>;

    /// Takes note that a session has ended.
    fn on_end(&mut self, client: ClientId);
}

/// Applications say themselves which paths they take, and may ask for everything.
#[derive(Clone, Copy, Debug)]
pub struct Trusting;

impl Policy for Trusting {
    fn admit(&mut self, _: &str, _: ClientId, ask: Ask) -> Result<Ask, Refusal> {
        match ask {
            Ask::Open { .. } => Err(Refusal::lasting("this agent finds no paths; name them")),
            ask => Ok(ask),
        }
    }

    fn on_link(&mut self, _: AgentId, _: u32, _: f64) -> bool {
        false
    }

    fn reroute(&mut self) -> Vec<(ClientId, Ask)> {
        Vec::new()
    }

    fn on_end(&mut self, _: ClientId) {}
}
