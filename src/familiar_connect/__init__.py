"""A life among friends for an AI character: memory you can read, prompts you can see."""

__version__ = "0.1.0"
