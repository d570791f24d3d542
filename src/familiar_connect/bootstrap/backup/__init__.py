"""A whole data home as one file, and back: `backup` writes it while the program runs, `restore` reads it."""
