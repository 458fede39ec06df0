"""Allocations: rates with their proof, as tables, in folders, and compared with a reference."""
