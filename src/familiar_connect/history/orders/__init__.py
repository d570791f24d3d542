"""What people ordered in a channel: where its dialogue begins, and what they are to be reminded of."""
