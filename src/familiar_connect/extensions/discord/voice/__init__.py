"""Discord's voice channels: sound in, speech out, both encrypted as Discord asks."""
