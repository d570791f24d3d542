"""The words of scene blocks: names filled in, platform marks readable, nothing that could pass for our own lines."""

from __future__ import annotations

import re

from familiar_connect.chat.annotate.context import FAMILIAR, MentionResolver, People
from familiar_connect.chat.scene import ChannelKind, Scene
from familiar_connect.config.channel import SMALL_MODEL_SHARES, channel_config_for_mode
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.types import ContextRequest, Layer
from familiar_connect.identity import EVERYTHING_ALLOWED, Privacy
from familiar_connect.support.system_notes import note, speaker_name, unwrap_note, without_fake_notes
from familiar_connect.support.text import truncate_chars, without_controls, without_invisible

ANYONE = "User"
"""Who is meant in blocks that stay the same whoever speaks."""
MOST_CHARS = 4_000

_IDENTITY = re.compile(
    r"\{\{\s*(user|char|bot)\s*\}\}|(?<!\{)\{\s*(user|char|bot)\s*\}(?!\})",
    re.IGNORECASE,
)


def with_names(text: str, *, char: str, user: str = ANYONE) -> str:
    """*text* with `{user}`, `{char}` and `{bot}`, in single or double braces, as names."""
    if "{" not in text:
        return text
    return _IDENTITY.sub(lambda found: user if (found[1] or found[2]).lower() == "user" else char, text)


def inline_safe(text: str, limit: int = MOST_CHARS) -> str:
    """*text* on one line, without brackets: fit to stand inside a System line."""
    return truncate_chars(unwrap_note(note(_visible(text[: limit * 2]))), limit)


def block_safe(text: str, limit: int = MOST_CHARS) -> str:
    """*text* in its lines, with nothing in it that could pass for a System line."""
    return truncate_chars(without_fake_notes(_visible(text[: limit * 2])).strip(), limit)


def _visible(text: str) -> str:
    return without_controls(without_invisible(text))


def persona_of(request: ContextRequest) -> str:
    """Who answers, by the name it has here."""
    if request.turn is not None and request.turn.persona:
        return request.turn.persona
    card = request.card.name if request.card is not None else ""
    own = request.scene.own_name if request.scene is not None else None
    return speaker_name(card or own or request.familiar_id, FAMILIAR)


def partner_of(request: ContextRequest) -> str:
    """The one who speaks with the familiar, where it is one; else nobody."""
    shown = request.turn.messages if request.turn is not None else ()
    people = {each.author_name for each in shown if each.author_type == "user" and each.author_kind != "system"}
    if not shown:
        people = {speaker_name(each.author.label) for each in request.turns_to_answer if each.author is not None}
    return people.pop() if len(people) == 1 else ""


def is_voice_channel(request: ContextRequest) -> bool:
    scene = request.scene
    kind = scene.channel.kind if scene is not None and scene.channel is not None else None
    return kind in (ChannelKind.voice, ChannelKind.stage)


def channel_name(request: ContextRequest) -> str:
    """What the channel is called, for people."""
    channel = request.scene.channel if request.scene is not None else None
    if request.story.group:
        return "Group Chat"
    if request.is_dm:
        return "Direct Message"
    if channel is None:
        return "unknown"
    if is_voice_channel(request):
        return f"{speaker_name(channel.name, 'unnamed')} (voice)"
    name = f"#{speaker_name(channel.name.lstrip('#'), 'unnamed')}"
    return f"{name} in #{speaker_name(channel.parent_name.lstrip('#'))}" if channel.parent_name else name


def readable(request: ContextRequest, text: str, *, user: str = ANYONE, privacy: Privacy = EVERYTHING_ALLOWED) -> str:
    """*text* somebody wrote about this place, its mentions and names as people read them."""
    return with_names(name_marks(request, text, privacy=privacy), char=persona_of(request), user=user)


def name_marks(request: ContextRequest, text: str, *, privacy: Privacy = EVERYTHING_ALLOWED) -> str:
    """*text* with the platform's marks, such as `<@42>`, as the names they stand for."""
    if "<" not in text and "://" not in text:
        return text
    scene = request.scene or Scene()
    return MentionResolver(scene, People(scene, persona=persona_of(request), privacy=privacy)).readable(text)


def question_of(request: ContextRequest) -> str:
    """What is said now, as memory is searched for it: people by their names, and without the mark that calls us.

    The number in `<@42>` means nothing, and beside a short question it hides what the question means.
    """
    text, me = request.utterance, request.scene.me if request.scene is not None else None
    if me is not None and "<@" in text:
        text = re.sub(rf"<@!?{re.escape(me.user_id)}>", " ", text)
    return name_marks(request, text).strip() or request.utterance


def is_for_small_model(request: ContextRequest) -> bool:
    """Whether the prompt must stay smaller than the mode would have it; beside a preset the rest has less anyway."""
    if request.mode is None or request.preset is not None:
        return False
    return 0 < request.budget_tokens < channel_config_for_mode(request.mode).budget_tokens


def scene_budget(request: ContextRequest) -> int:
    """Tokens that the scene's layer has in this request's mode; less where a small model answers."""
    channel = channel_config_for_mode(request.mode or ChannelMode.text_conversation_rp)
    room = channel.budget_by_layer.get(Layer.scene, 0)
    if is_for_small_model(request):
        room = min(room, int(request.budget_tokens * SMALL_MODEL_SHARES.get(Layer.scene, 0.0)))
    return room
