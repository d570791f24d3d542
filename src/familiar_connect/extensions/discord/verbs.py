"""The verbs of Discord, each with its line in the help; what they do is loaded when one is used."""

from __future__ import annotations

VERBS = {"discord": "Make the link that lets a bot of yours onto a Discord server."}
