"""Hearing and speaking on this computer, with the models of the voice extra."""
