"""Twitch: a channel's chat, and what happens on it, through EventSub."""
