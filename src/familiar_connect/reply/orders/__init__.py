"""What people may ask of a chat besides talking: where its dialogue begins, and what to be reminded of."""
