"""Solvers of fair rates: what is asked of them, the methods by name, many cases at once."""
