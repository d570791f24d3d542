"""An endpoint for other programs: every familiar is a model there, asked as OpenAI's models are."""
