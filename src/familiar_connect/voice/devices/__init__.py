"""The microphone and the speakers of this computer."""
