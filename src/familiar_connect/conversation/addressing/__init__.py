"""Whether a message that holds the name of the familiar is said to it, or only about it."""
