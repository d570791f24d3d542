"""Programs to run and read."""
