"""What is brought in from outside: documents, lorebooks, presets."""
