"""The words of what was said, by their meaning."""
