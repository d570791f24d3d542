"""A small Discord of our own on this machine: the HTTP API and the gateway, as far as the program uses them."""
