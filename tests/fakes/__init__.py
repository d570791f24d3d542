"""Actors and values that tests share."""
