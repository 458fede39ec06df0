"""Outcomes: what the runs of a published experiment give, a class for each kind of run."""
