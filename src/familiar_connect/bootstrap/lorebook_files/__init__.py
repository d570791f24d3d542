"""Lorebook files: their formats, their Markdown files, and the record needed to export them again."""
