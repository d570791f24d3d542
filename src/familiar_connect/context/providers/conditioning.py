"""ConditioningProvider: what the persona was rewarded and punished for on this server.

What people gave as reasons is told as data, in a fence. Nothing on direct messages, and nothing while the familiar
speaks for somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.chat.annotate.identity import People
from familiar_connect.chat.scene import Scene
from familiar_connect.context.providers.scene.text import inline_safe, is_dm, persona_of, readable
from familiar_connect.context.types import FILES_DEADLINE_S, ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.identity import Author
from familiar_connect.memory.conditioning import ACTIONS, MAX_REASON, Conditioning, ConditioningGroup, FeedbackKind
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import speaker_name
from familiar_connect.support.tokens import estimate_tokens

MOST_NAMED = 5
SOURCE = "conditioning"
LABEL = "what people here liked and did not like"
HEADINGS: dict[FeedbackKind, str] = {"reward": "Rewarded", "punish": "Punished"}


class ConditioningProvider:
    """At most one block, rewards before punishments."""

    id = "conditioning"
    deadline_s = FILES_DEADLINE_S

    def __init__(self, conditioning: Conditioning) -> None:
        self._conditioning = conditioning

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        kinds: list[FeedbackKind] = []
        if request.settings.rewards_enabled:
            kinds.append("reward")
        if request.settings.punishments_enabled:
            kinds.append("punish")
        imitating = request.turn is not None and request.turn.imitated is not None
        if request.guild_id is None or is_dm(request) or imitating or not kinds:
            return []
        text = await off_loop(self._text, request, kinds, request.guild_id)
        if not text:
            return []
        return [
            Contribution(
                Layer.author_note,
                int(Priority.CONDITIONING),
                text,
                estimate_tokens(text),
                SOURCE,
                tag=ItemTag.CONDITIONING,
                label=LABEL,
                audiences=request.own_audience,
            )
        ]

    def _text(self, request: ContextRequest, kinds: Sequence[FeedbackKind], guild_id: int) -> str:
        persona = request.turn.persona if request.turn is not None else ""
        sections = []
        for kind in kinds:
            groups = self._conditioning.groups(kind, server_id=guild_id, persona=persona)
            if groups:
                name = persona_of(request)
                sections.append("\n".join([f"{HEADINGS[kind]}:", *(_line(group, name, request) for group in groups)]))
        return "\n\n".join(sections)


def _line(group: ConditioningGroup, persona: str, request: ContextRequest) -> str:
    """What was done, by whom, what for, and how often."""
    done = ACTIONS[group.kind][group.action]
    names = [_name(request, who) for who in group.people[:MOST_NAMED]]
    if len(group.people) > MOST_NAMED:
        names.append(f"{len(group.people) - MOST_NAMED} more")
    often = f" ×{group.times}" if group.times > 1 else ""
    reason = inline_safe(readable(request, group.reason), MAX_REASON)
    return f"- {persona} was {done} by {', '.join(names)} for: {reason}{often}"


def _name(request: ContextRequest, who: Author) -> str:
    """How the person is called here now, or else then."""
    scene = request.scene or Scene()
    return People(scene, persona=persona_of(request)).name_for_id(who.user_id) or speaker_name(who.label, who.user_id)
