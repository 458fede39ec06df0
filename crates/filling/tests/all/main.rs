//! All tests of filling, in one program that is linked once.

mod random_networks;
mod small_networks;
