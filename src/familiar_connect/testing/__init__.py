"""Doubles for tests and benchmarks."""
