"""Commands for servers with channels, roles and members."""
