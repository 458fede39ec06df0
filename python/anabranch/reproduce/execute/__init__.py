"""Runs of published experiments: solved, simulated, followed as fluid models."""
