"""Listening for HTTP on this computer: the socket, the server, and the checks before any route."""
