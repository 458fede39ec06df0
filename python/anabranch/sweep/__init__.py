"""Sweeps: one scenario run with many values, and what is known of all runs together."""
