"""The verbs of the endpoint, each with its line in the help; what they do is loaded when one is used."""

from __future__ import annotations

VERBS = {
    "serve": "Let other programs talk with your familiars: SillyTavern, Open WebUI, scripts.",
    "watch": "Let other programs follow what your familiars hear and say.",
}
