//! Agents in virtual time, over connections that break.

mod codec;
mod network;
mod rates;
mod trouble;
