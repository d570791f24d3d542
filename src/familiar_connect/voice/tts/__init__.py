"""Synthesisers of speech."""
