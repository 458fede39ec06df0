"""Agents that grant rates in real networks: their files and certificates."""
