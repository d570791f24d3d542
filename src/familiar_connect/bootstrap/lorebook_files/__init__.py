"""Lorebook files: their formats, the Markdown they become, and the record that leads back."""
