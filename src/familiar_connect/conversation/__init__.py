"""When to speak: what is heard, what waits, what is answered."""
