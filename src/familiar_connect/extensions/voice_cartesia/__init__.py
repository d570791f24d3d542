"""Cartesia's voices."""
