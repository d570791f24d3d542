"""What the host of a platform gives for some networks: servers, commands in a form of their own, voice channels."""
