"""Chats from elsewhere, read into the messages they hold."""
