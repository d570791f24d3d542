"""Telegram: direct chats and groups, through the Bot API by long polling."""
