"""AssetsProvider: the custom emojis and stickers a server offers.

Nothing in direct messages, in voice, and in role-play channels, where neither belongs. What an asset is for
stands in its note: `joy; a dancing cat` names a feeling and a picture, `joy;` the feeling alone and `a dancing
cat` the picture alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from familiar_connect.chat.message_parts import Emoji, Sticker
from familiar_connect.chat.scene import Scene
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.scene.text import inline_safe, is_dm, is_voice_channel, persona_of, with_names
from familiar_connect.context.types import (
    FILES_DEADLINE_S,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Modality,
    Priority,
)
from familiar_connect.support.aio import off_loop

MOST_SHOWN = 60
NOTE_CHARS = 120
UNSET = "unset"

ModeOf = Callable[[int], ChannelMode]
"""The mode of a channel by its id; may read a file."""


class AssetsProvider:
    """At most one block of emojis and one of stickers."""

    id = "assets"
    deadline_s = FILES_DEADLINE_S

    def __init__(
        self,
        *,
        mode_of: ModeOf | None = None,
        sticker_tool: str | None = None,
        is_offered: Callable[[ContextRequest], bool] = lambda request: True,
    ) -> None:
        """*sticker_tool*: the function that sends a sticker, offered where *is_offered* says so; None: never."""
        self._mode_of = mode_of
        self._sticker_tool = sticker_tool
        self._is_offered = is_offered

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        scene = request.scene
        spoken = request.modality is Modality.voice or is_voice_channel(request)
        if scene is None or spoken or is_dm(request) or await self._is_role_play(request, scene):
            return []
        return [*self._emojis(request, scene), *self._stickers(request, scene)]

    async def _is_role_play(self, request: ContextRequest, scene: Scene) -> bool:
        """Whether the channel, or the one its thread hangs under, is for role play."""
        if request.mode is ChannelMode.full_rp:
            return True
        parent = next((each.parent_id for each in scene.channels if each.channel_id == request.channel_id), None)
        if parent is None or self._mode_of is None:
            return False
        return await off_loop(self._mode_of, parent) is ChannelMode.full_rp

    def _emojis(self, request: ContextRequest, scene: Scene) -> list[Contribution]:
        shown = distinct_assets(scene.emojis) if request.settings.emoji_usage_enabled else []
        if not shown:
            return []
        imitating = request.turn is not None and request.turn.imitated is not None
        how = "Write one as :name: in lower or upper case, never with a number or an id."
        if not imitating:
            how += " Use them now and then, where they fit."
        lines = ["# Emojis of this server", how, *(f":{asset.name}:{asset.label}" for asset in shown)]
        text = with_names("\n".join(lines), char=persona_of(request))
        return [_block(request, text, ItemTag.EMOJIS, Priority.EMOJIS, "assets:emojis")]

    def _stickers(self, request: ContextRequest, scene: Scene) -> list[Contribution]:
        turn = request.turn
        withheld = turn is not None and (turn.flags.disable_all_tools or turn.imitated is not None)
        toolless = self._sticker_tool is None or withheld or not self._is_offered(request)
        shown = distinct_assets(scene.stickers) if request.settings.sticker_usage_enabled and not toolless else []
        if not shown:
            return []
        lines = [
            "# Stickers of this server",
            *(f'"{asset.name}"{asset.label}' for asset in shown),
            f"To send one, call `{self._sticker_tool}` with its name.",
        ]
        text = with_names("\n".join(lines), char=persona_of(request))
        return [_block(request, text, ItemTag.STICKERS, Priority.STICKERS, "assets:stickers")]


@dataclass(frozen=True)
class Asset:
    """An emoji or sticker as it is offered."""

    name: str
    label: str


def distinct_assets(assets: Iterable[Emoji | Sticker]) -> list[Asset]:
    """One per name, oldest first: of several the latest made stands, with the richest note any of them has."""
    latest: dict[str, tuple[tuple[int, int], Emoji | Sticker]] = {}
    notes: dict[str, tuple[tuple[int, tuple[int, int]], str]] = {}
    for place, asset in enumerate(assets):
        name = inline_safe(asset.name, 64).replace('"', "'")
        if not name:
            continue
        made, key = (_made(asset), place), name.casefold()
        if key not in latest or made > latest[key][0]:
            latest[key] = (made, asset)
        rank, label = _label(asset)
        if key not in notes or (rank, made) > notes[key][0]:
            notes[key] = ((rank, made), label)
    ordered = sorted(latest.items(), key=lambda entry: entry[1][0])[-MOST_SHOWN:]
    return [Asset(inline_safe(asset.name, 64).replace('"', "'"), notes[key][1]) for key, (_, asset) in ordered]


def _made(asset: Emoji | Sticker) -> int:
    """When it was made, as far as its id tells: platforms count them upwards."""
    id_ = asset.emoji_id if isinstance(asset, Emoji) else asset.sticker_id
    return int(id_) if id_ and id_.isascii() and id_.isdigit() and len(id_) <= 20 else 0


def _label(asset: Emoji | Sticker) -> tuple[int, str]:
    """How rich its note is, and the note as it is shown."""
    feeling, semicolon, rest = (asset.note or "").partition(";")
    emotion = inline_safe(feeling, NOTE_CHARS) if semicolon else ""
    described = inline_safe(rest if semicolon else feeling, NOTE_CHARS)
    emotion = "" if emotion.casefold() == UNSET else emotion
    said: Sequence[str] = [part for part in (emotion and f"Expresses {emotion}", described) if part]
    if not said and isinstance(asset, Sticker) and asset.description:
        own = inline_safe(asset.description, NOTE_CHARS)
        return 0, f" ({own})" if own else ""
    return (1 if said else 0), f" ({'; '.join(said)})" if said else ""


def _block(request: ContextRequest, text: str, tag: ItemTag, priority: Priority, source: str) -> Contribution:
    here = request.own_audience
    return Contribution.of(Layer.scene, text, source=source, priority=int(priority), tag=tag, audiences=here)
