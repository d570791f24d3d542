"""What is kept for good: Markdown, and indices derived from it."""
