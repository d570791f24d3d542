"""Taking back what was said: out of everything that was made of it."""
