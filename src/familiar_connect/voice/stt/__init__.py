"""Recognisers of speech."""
