"""Gemini's voices."""
