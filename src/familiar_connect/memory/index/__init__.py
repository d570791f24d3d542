"""Search over memory files and everything said, by words and by meaning."""
