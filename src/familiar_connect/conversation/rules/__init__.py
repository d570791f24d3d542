"""What people set for a channel or a server by command, and what is kept of it."""
