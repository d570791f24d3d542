"""Which embedder finds meaning: the one that comes with the program, a library's, or a server's."""
