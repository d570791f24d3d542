"""Slash commands, written once for every platform."""
