"""Which better model could answer on this computer, how fast it would be, and fetching it while the small one talks."""
