"""Prompts tried out: for a conversation in a file, and for a past turn, then and now."""
