"""Hearing, speaking, taking turns; knows nothing of any platform."""
