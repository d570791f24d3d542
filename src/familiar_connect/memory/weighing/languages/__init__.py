"""What is worth keeping in languages other than English: one reader, and a file for the words of each language."""
