"""Slash commands as Discord wants them told and drawn."""
