"""Fetching addresses that others name: with limits, checked, and never inside private networks."""
