"""Verbs of the command line; one file per verb or close family."""
