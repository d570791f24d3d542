"""Vectors taken from SillyTavern itself, held against what we make of the same cards, lorebooks, macros and presets."""
