"""Places to try the program in without an account anywhere."""
