"""Builds a familiar's parts, each once, in an order you can read. Nothing registers itself."""
