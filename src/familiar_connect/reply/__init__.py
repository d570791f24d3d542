"""One reply, from exchange to record."""
