"""The terminal as a platform: no keys, no network."""
