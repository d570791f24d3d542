"""What a verb of the command line needs: the options that other verbs have, and the host by which it speaks."""

from __future__ import annotations

from familiar_connect.extensions.verbs import VerbHost, familiar_option, json_option, open_verb

__all__ = ["VerbHost", "familiar_option", "json_option", "open_verb"]
