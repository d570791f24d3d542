"""Interactions: what commands there are, and how each use of one, of a button or of a form is answered.

One is answered first within three seconds, in a form that its kind takes, and once; what follows is sent with its
token, for a quarter of an hour. The first that follows a "thinking…" fills that in, and stays as hidden as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from familiar_connect.extensions.discord.demo.command_rules import why_commands_refused
from familiar_connect.extensions.discord.demo.message_rules import (
    ApiRefusal,
    invalid,
    why_choices_refused,
    why_form_refused,
    why_message_refused,
)
from familiar_connect.extensions.discord.demo.world import Payload, Room, World

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL_SUBMIT = 2, 3, 4, 5
MESSAGE, THINKING, THINKING_BELOW, UPDATE, SUGGESTIONS, FORM = 4, 5, 6, 7, 8, 9
EPHEMERAL = 1 << 6
ANSWERS = {
    COMMAND: {MESSAGE, THINKING, FORM},
    COMPONENT: {MESSAGE, THINKING, THINKING_BELOW, UPDATE, FORM},
    AUTOCOMPLETE: {SUGGESTIONS},
    MODAL_SUBMIT: {MESSAGE, THINKING, THINKING_BELOW, UPDATE},
}
"""How each kind may be answered first."""
UNKNOWN_INTERACTION, ALREADY_ACKNOWLEDGED, UNKNOWN_WEBHOOK, INVALID_TOKEN = 10062, 40060, 10015, 50027
UNKNOWN_MESSAGE = 10008
ANSWER_WITHIN_S, TOKEN_LASTS_S = 3.0, 900.0
ROOMY_S = 60.0
"""A test that is about something else does not fail because its machine stood still for a moment."""
MAX_KEPT = 10_000


@dataclass
class Interaction:
    """One use of something, and how far its answer has come."""

    kind: int
    room: Room
    began: float
    option_type: int = 3
    """Of what is typed, where suggestions are asked for."""
    was_below: bool = False
    """Something below a message, which an update is of."""
    answered: int | None = None
    hidden: int = 0
    """Whether the first answer is for the asker alone, as a flag."""
    is_thinking: bool = False
    first_answer: str = ""
    """The words of the first answer."""


class Interactions:
    """Every interaction of a client, by its token."""

    def __init__(self, world: World, noted: Callable[[str, Payload], None], deadline_s: float) -> None:
        self._world = world
        self._noted = noted
        self.commands: list[Payload] = []
        self.deadline_s = deadline_s
        self.lasts_s: float = TOKEN_LASTS_S
        self._open: dict[str, Interaction] = {}

    def begin(self, token: str, kind: int, room: Room, *, option_type: int = 3, was_below: bool = False) -> None:
        """Somebody used something: from now on the client may answer."""
        self._open[token] = Interaction(kind, room, monotonic(), option_type, was_below)
        while len(self._open) > MAX_KEPT:
            del self._open[next(iter(self._open))]

    def register(self, app: str, commands: list[Payload]) -> ApiRefusal | list[Payload]:
        """Take *commands* for those of the client, or none of them."""
        refused = why_commands_refused(commands)
        if refused is not None:
            return invalid(refused)
        self.commands = [
            command | {"id": str(self._world.new_id()), "application_id": app, "version": "1"} for command in commands
        ]
        self._noted("commands", {"names": [command["name"] for command in self.commands]})
        return self.commands

    def answer_first(self, token: str, said: Payload) -> ApiRefusal | None:
        """The first answer to an interaction; None: it is taken."""
        found = self._open.get(token)
        if found is not None and found.answered is not None:
            return ApiRefusal(400, ALREADY_ACKNOWLEDGED, "Interaction has already been acknowledged.")
        if found is None or monotonic() - found.began > self.deadline_s:
            return ApiRefusal(404, UNKNOWN_INTERACTION, "Unknown interaction")
        kind, data = said["type"], said.get("data") or {}
        refused = self._why_refused(found, kind, data | {"files": said.get("files") or {}})
        if refused is not None:
            return refused
        found.answered, found.hidden = kind, data.get("flags", 0) & EPHEMERAL
        found.is_thinking, found.first_answer = kind == THINKING, str(data.get("content") or "")
        self._note_answer(token, kind, data, said.get("files", {}))
        return None

    def _why_refused(self, found: Interaction, kind: int, data: Payload) -> ApiRefusal | None:
        if kind not in ANSWERS[found.kind] or (kind == UPDATE and not found.was_below):
            return invalid(f"type: {kind} is no answer to an interaction of type {found.kind}")
        if kind == FORM:
            return why_form_refused(data)
        if kind == SUGGESTIONS:
            return why_choices_refused(data.get("choices") or [], found.option_type)
        return why_message_refused(data) if kind in (MESSAGE, UPDATE) else None

    def follow_up(self, token: str, said: Payload) -> ApiRefusal | Payload:
        """Something more for the asker: the message as it stands, or why not."""
        found = self._open.get(token)
        if found is None or found.answered is None:
            return ApiRefusal(404, UNKNOWN_WEBHOOK, "Unknown Webhook")
        if monotonic() - found.began > self.lasts_s:
            return ApiRefusal(401, INVALID_TOKEN, "Invalid Webhook Token")
        refused = why_message_refused(said)
        if refused is not None:
            return refused
        if found.is_thinking:  # it fills in what is being thought about, and that is as hidden as it was
            said = said | {"flags": found.hidden}
            found.is_thinking, found.first_answer = False, str(said.get("content") or "")
        self._note_answer(token, MESSAGE, said, said.get("files", {}))
        flags = said.get("flags", 0)
        return self._world.message(Room(0, "interaction"), self._world.bot, said.get("content") or "", flags=flags)

    def show_first(self, token: str) -> ApiRefusal | Payload:
        """The message of the first answer, or why there is none."""
        found = self._open.get(token)
        if found is None or found.answered is None:
            return ApiRefusal(404, UNKNOWN_WEBHOOK, "Unknown Webhook")
        if monotonic() - found.began > self.lasts_s:
            return ApiRefusal(401, INVALID_TOKEN, "Invalid Webhook Token")
        if found.answered not in (MESSAGE, THINKING):
            return ApiRefusal(404, UNKNOWN_MESSAGE, "Unknown Message")
        return self._world.message(Room(0, "interaction"), self._world.bot, found.first_answer, flags=found.hidden)

    def _note_answer(self, token: str, kind: int, data: Payload, files: Any) -> None:
        self._noted("answered", {"token": token, "type": kind, "data": data, "files": files})
