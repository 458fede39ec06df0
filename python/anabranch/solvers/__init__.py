"""Solvers of fair rates: methods and options, `solve` for one case, `solve_many` for many, `Allocator` for changes."""
