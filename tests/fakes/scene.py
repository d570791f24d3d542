"""Actors of scene blocks: members with roles, and requests made in a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from familiar_connect.chat.scene import ChannelContext, ChannelKind, Member, Role, Scene
from familiar_connect.chat.types import AuthorKind, Imitated, SimplifiedMessage, Turn
from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.types import ContextRequest
from familiar_connect.identity import Author, FixedPrivacy, Privacy, PrivacyLevel
from tests.fakes.chat import WREN
from tests.fakes.context import ADA, BO, CY, a_request

AT = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
KEEPER, GUEST = Role(role_id="31", name="Keeper", position=5), Role(role_id="32", name="Guest", position=1)
EVERYONE = Role(role_id="30", name="@everyone", position=0)
HOUSE = Scene(
    server_name="Tea House",
    server_id=5,
    channel=ChannelContext("lounge", ChannelKind.text),
    me=WREN,
    own_name="Wren",
    members=(Member(author=ADA), Member(author=BO), Member(author=CY)),
)
ALONE = Scene(channel=ChannelContext("Ada", ChannelKind.dm), is_dm=True, me=WREN)


def entry_by(author: Author, content: str = "hi", kind: AuthorKind = "user", **more: Any) -> SimplifiedMessage:
    """Something *author* wrote, as it is shown."""
    facts: dict[str, Any] = {
        "id": f"{kind}-{author.user_id}-{content}",
        "author_id": author.user_id,
        "author_name": author.label,
        "author_type": "user",
        "author_kind": kind,
        "content": content,
        "created_at": AT,
    }
    return SimplifiedMessage(**facts | more)


def our_entry(content: str = "hm", persona: str = "Wren") -> SimplifiedMessage:
    return entry_by(WREN, content, "persona", author_type="persona", author_name=persona, persona_name=persona)


def a_turn_of(*messages: SimplifiedMessage, imitated: Author | None = None, **more: Any) -> Turn:
    facts: dict[str, Any] = {
        "familiar_id": "wren",
        "channel_id": 7,
        "guild_id": 5,
        "said": (),
        "messages": messages,
        "persona": "Wren",
        "imitated": Imitated(author=imitated, name=imitated.label) if imitated is not None else None,
    }
    return Turn(**facts | more)


def request_in_place(
    *messages: SimplifiedMessage,
    scene: Scene | None = HOUSE,
    settings: PlaceSettings | None = None,
    imitated: Author | None = None,
    **more: Any,
) -> ContextRequest:
    """A request made in the lounge of the tea house, where *messages* are shown."""
    facts: dict[str, Any] = {"guild_id": 5, "scene": scene, "settings": settings or PlaceSettings()}
    turn = a_turn_of(*messages, imitated=imitated)
    now = replace(turn.showing, now=AT)
    return a_request(**facts | {"turn": replace(turn, showing=now)} | more)


def with_members(*members: Member, **more: Any) -> Scene:
    return replace(HOUSE, members=members, **more)


def privacy_levels(choices: Sequence[tuple[Author, PrivacyLevel]]) -> Privacy:
    """What each of them allows; everyone else allows everything."""
    return FixedPrivacy({author.canonical_key: level for author, level in choices})
