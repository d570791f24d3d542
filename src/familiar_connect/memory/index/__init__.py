"""Finding things again: Markdown files and everything ever said, by words and by meaning."""
