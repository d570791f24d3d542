"""Chats of other programs: plain text with names, and JSON."""
