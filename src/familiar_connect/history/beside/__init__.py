"""What is kept beside the turns: the facts of a message, and what it read before it was changed."""
