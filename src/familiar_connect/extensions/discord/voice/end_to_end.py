"""DAVE, Discord's encryption from end to end: what a person's packets say, given the session of the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.extensions.discord.voice.packets import SILENCE

if TYPE_CHECKING:
    from davey import DaveSession

SEALED = b"\xfa\xfa"
"""Ends every frame that is encrypted from end to end."""


def open_frame(session: DaveSession | None, user_id: int, payload: bytes) -> bytes | None:
    """The Opus in *payload*; None where it cannot be opened.

    Before the call has agreed on its keys people send in the clear, and what is encrypted already is for others.
    """
    if payload == SILENCE:
        return payload
    if session is None or not session.ready:
        return None if payload.endswith(SEALED) else payload
    import davey

    try:
        return session.decrypt(user_id, davey.MediaType.audio, payload)
    except (ValueError, RuntimeError):  # not for us, changed on its way, or keys that changed meanwhile
        return None
