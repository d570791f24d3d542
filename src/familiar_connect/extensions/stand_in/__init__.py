"""What lets a platform be tried without its network: a demonstration, and the servers of a rehearsal."""
