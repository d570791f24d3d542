"""What happens in channels, taken in order, and what was said while nobody listened."""
