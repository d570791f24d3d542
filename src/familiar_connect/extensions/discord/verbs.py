"""The verbs of Discord, each with its line in the help; what they do is loaded when one is used."""

from __future__ import annotations

VERBS = {"discord": "Print the link that adds your bot to a Discord server."}
