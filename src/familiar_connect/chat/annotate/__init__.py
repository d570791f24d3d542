"""What stands around the words of one message."""
