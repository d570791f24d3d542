"""Readers and writers of character card files, one per container."""
