"""Models that are given one text instead of messages: what asks them, and how a chat becomes that text."""
