"""Deepgram's recogniser."""
