//! Networks and demands made by rule and seed.
