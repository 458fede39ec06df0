"""The numbers measured on runs of published experiments."""
