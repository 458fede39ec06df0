//! Agents in virtual time, over connections that break.

mod away;
mod codec;
mod floods;
mod liars;
mod middle;
mod network;
mod rates;
mod silence;
mod trouble;

/// How many random networks are tried: as many as CASES says, or else a few.
fn cases(few: u32) -> u32 {
    std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}
