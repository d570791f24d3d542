"""SillyTavern presets: reading, storing and applying them to a prompt."""
