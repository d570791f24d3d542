"""`familiar serve` under trial: programs that keep their chats themselves, keys of many kinds, and its own share."""
