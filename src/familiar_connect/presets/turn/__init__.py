"""What one turn brings to a preset: the values of its macros, and how its speech is written."""
