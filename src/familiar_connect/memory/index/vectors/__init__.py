"""Vectors of what was said beside those of whole turns, and how they are stored."""
