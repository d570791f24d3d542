"""Discord: text channels, threads, forum posts and direct messages."""
