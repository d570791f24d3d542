"""Lorebooks as memory keeps them: an entry a Markdown file, and beside them a record of all the rest."""
