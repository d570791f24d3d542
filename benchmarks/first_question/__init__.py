"""What the first question of a new process finds in memory."""
