"""A week of talk with three people, and what a familiar remembers of it."""
