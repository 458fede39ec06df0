"""Approximate max-min fair rates, for where exact ones take too long: linear programs and water-fillers."""
