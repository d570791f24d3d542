"""The embedded model: a local server in a child process, spoken to like any other."""
