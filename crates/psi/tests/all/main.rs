//! All tests of publish-subscribe, in one program that is linked once.

mod delivery;
mod false_positives;
mod rendezvous;
mod topology_manager;
mod walks;
