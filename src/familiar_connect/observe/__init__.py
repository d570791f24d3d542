"""Seeing without touching."""
