"""Hearing and speaking through any server that knows OpenAI's addresses."""
