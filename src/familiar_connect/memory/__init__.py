"""Long-term memory: Markdown files, and indexes derived from them."""
