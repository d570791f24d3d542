"""Platform marks made readable."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.annotate.context import MentionResolver, People, display_name_of, emoji_names
from familiar_connect.chat.scene import ChannelRef, Member, Role, Scene
from familiar_connect.identity import Author
from tests.fakes.chat import WREN
from tests.fakes.context import ADA, BO

SCENE = Scene(
    members=(Member(author=ADA), Member(author=BO, saved_nickname="Bobby")),
    channels=(ChannelRef(channel_id=70, name="garden"),),
    roles=(Role(role_id="80", name="Keeper"),),
    me=WREN,
    own_name="Wren of the House",
)


def marks(scene: Scene = SCENE, **more: object) -> MentionResolver:
    return MentionResolver(scene, People(scene, persona="Wren", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hi <@1> and <@!2>", "hi Ada and Bobby"),
        ("see <#70>, <@&80>", "see #garden, @Keeper"),
        ("https://discord.com/channels/5/70/123 says", "#garden says"),
        ("https://ptb.discord.com/channels/5/70", "#garden"),
        ("http://chat.example/channels/@me/70", "#garden"),
        ("https://discord.com/channels/5/71/123 /channels/5/70", "<#71> /channels/5/70"),
        ("<@99>!", "Wren of the House!"),
        ("<@12345> <#1> <@&1>", "<@12345> <#1> <@&1>"),
        ("a < b and c://d", "a < b and c://d"),
    ],
)
def test_marks_become_names(text: str, shown: str) -> None:
    """B10: people by their preferred name, channels and roles by theirs, ourselves as the server calls us."""
    assert marks().readable(text) == shown


def test_our_name_without_a_server_is_the_personas() -> None:
    """B10: where nobody says what we are called here."""
    assert marks(Scene(me=WREN)).readable("<@99>") == "Wren"


def test_what_cannot_be_resolved_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """B10: how many, not what was said."""
    with caplog.at_level(logging.WARNING):
        marks().readable("secret <@12345> <@12346>")

    assert [vars(record)["count"] for record in caplog.records] == [2]
    assert "secret" not in caplog.text


def test_a_saved_nickname_shows_only_where_it_may() -> None:
    """B11: not for the blacklisted, nor where personalisation is off, nor for someone at full privacy."""
    wish = Member(author=ADA, saved_nickname="Countess", server_nickname="Addie")

    assert display_name_of(ADA, wish) == "Countess"
    assert display_name_of(ADA, wish, is_private=True) == "Addie"
    assert display_name_of(ADA, Member(author=ADA, saved_nickname="C", is_blacklisted=True)) == "Ada"
    assert display_name_of(ADA, Member(author=ADA, saved_nickname="C", is_personalised=False)) == "Ada"
    assert display_name_of(Author("discord", "5", "dee", None)) == "dee"
    assert display_name_of(Author("discord", "5", None, "\u200b")) == "5"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hi <:tea:11> <a:wave:12>", "hi :tea: :wave:"),
        ("`<:tea:11>` <:tea:11>", "`<:tea:11>` :tea:"),
        ("```\n<:tea:11>\n``` <:tea:11>", "```\n<:tea:11>\n``` :tea:"),
        ("``` open <:tea:11>", "``` open :tea:"),
    ],
)
def test_custom_emojis_go_by_name_outside_of_code(text: str, shown: str) -> None:
    """B16: inside code they are what was typed."""
    assert emoji_names(text) == shown


@given(st.text(alphabet="<@!&#:a0123456789>` \n", max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    """Nothing raises, and text without marks is untouched."""
    shown = marks().readable(text)

    assert "<" in text or shown == text


def test_two_thousand_mentions_are_read_in_one_pass() -> None:
    """However many there are."""
    assert marks().readable("<@1>" * 2_000 + "<@777>" * 2_000) == "Ada" * 2_000 + "<@777>" * 2_000


def test_a_channel_of_old_mentions_is_warned_of_once_a_turn(caplog: pytest.LogCaptureFixture) -> None:
    """B10: the first message that holds one."""
    here = marks()
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            here.readable("<@12345>")

    assert len(caplog.records) == 1
