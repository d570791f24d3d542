"""SillyTavern's own prompt, to the letter: card, preset, persona and chat, and nothing of ours."""
