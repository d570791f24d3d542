"""ServerInfoProvider: where we are. Always exactly one block, the same whoever speaks."""

from __future__ import annotations

from familiar_connect.chat.scene import Scene
from familiar_connect.context.providers.scene.text import (
    block_safe,
    channel_name,
    inline_safe,
    is_dm,
    partner_of,
    persona_of,
    readable,
    with_names,
)
from familiar_connect.context.types import FILES_DEADLINE_S, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy
from familiar_connect.support.system_notes import quote_inline, speaker_name

DESCRIPTION_CHARS = 800
TOPIC_CHARS = 300
NOTE_CHARS = 800


class ServerInfoProvider:
    """One contribution, from the scene alone."""

    id = "server_info"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, *, privacy: Privacy = EVERYTHING_ALLOWED) -> None:
        self._privacy = privacy

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        scene = request.scene or Scene()
        lines = ["# Setting", _where(request, scene), *_writing_note(request, scene), *self._topic(request, scene)]
        if not is_dm(request) and scene.server_description and scene.server_name:
            about = readable(request, scene.server_description, privacy=self._privacy)
            if about := block_safe(about, DESCRIPTION_CHARS):
                lines += [f"## About {_server(scene.server_name)}", about]
        text = "\n".join(lines)
        return [
            Contribution.of(
                Layer.scene,
                text,
                source=self.id,
                priority=int(Priority.SERVER_INFO),
                tag=ItemTag.SERVER_INFO,
                audiences=request.own_audience,
            )
        ]

    def _topic(self, request: ContextRequest, scene: Scene) -> list[str]:
        """What the channel is for, as its people wrote above it; in a thread, above the channel it belongs to."""
        if is_dm(request) or scene.channel is None:
            return []
        topic = inline_safe(readable(request, scene.channel_topic or "", privacy=self._privacy), TOPIC_CHARS)
        return [f"The topic of {channel_name(request)}: {quote_inline(topic)}."] if topic.strip() else []


def _writing_note(request: ContextRequest, scene: Scene) -> list[str]:
    """How people write here, where the platform has ways of its own."""
    note = (scene.writing_note or "")[:NOTE_CHARS]
    return [with_names(note, char=persona_of(request))] if note else []


def _where(request: ContextRequest, scene: Scene) -> str:
    imitated = request.turn.imitated if request.turn is not None else None
    who = f"You are {imitated.name}," if imitated is not None else f"{persona_of(request)} is"
    if request.story.group and imitated is None:
        return f"{who} in a group chat with {_company(request)}."
    if is_dm(request):
        partner = partner_of(request) if imitated is None else ""
        return f"{who} in a direct message" + (f" with {quote_inline(partner)}." if partner else ".")
    if not scene.server_name:
        return f"{who} in the channel {channel_name(request)}." if scene.channel is not None else f"{who} on a server."
    return f"{who} in the server {quote_inline(_server(scene.server_name))}."


def _company(request: ContextRequest) -> str:
    """Everybody of a group but the one who answers, the person first."""
    own = persona_of(request)
    names = [request.story.user, *(name for name in request.story.group if name != own)]
    *others, last = [quote_inline(speaker_name(name)) for name in names if name]
    return f"{', '.join(others)} and {last}" if others else last


def _server(name: str) -> str:
    return speaker_name(name, "this server")
