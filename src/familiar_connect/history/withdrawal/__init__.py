"""What was said and then taken back, as far as the history tells of it."""
