"""SillyTavern's prompt, byte for byte: card, preset, persona and chat, nothing added."""
