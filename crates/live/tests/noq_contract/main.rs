//! What this crate relies on of noq beyond its documentation, a claim with a test each.
//!
//! A version of noq with which one of these fails needs a look at the code that the claim names, before anything else.
//! Nearly all of it happens in virtual time, between two ends that are state machines ([`pair`]); what the sockets and
//! tasks of noq have a part in happens over loopback.

mod calls;
mod keys;
mod loopback;
mod pair;
mod paths;
mod recorder;
mod streams;
