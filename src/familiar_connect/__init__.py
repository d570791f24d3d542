"""A life among friends for an AI character: memory you can read, prompts you can see."""

from familiar_connect.support.library_telemetry import turn_off_telemetry

__version__ = "0.2.0"

turn_off_telemetry()  # here, because every process of ours comes by before it loads a library
