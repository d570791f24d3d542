"""SillyTavern presets: read, kept, and laid over a prompt."""
