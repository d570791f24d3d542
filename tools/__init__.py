"""What stands beside the program: setting up the environment and pinning the packages."""
