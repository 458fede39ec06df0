//! Drives protocols in simulated time.
