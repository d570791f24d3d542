"""Notes, media, mentions and identities of one message."""
