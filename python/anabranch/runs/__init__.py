"""Runs of scenarios, simulated or live: the scenario file, the tables of a run, its result."""
