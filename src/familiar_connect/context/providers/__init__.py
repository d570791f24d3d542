"""One contributor to the prompt per file."""
