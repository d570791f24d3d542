"""Things a user can ask for with a slash, written once for every platform."""
