"""Channel labels read as people name channels."""

from __future__ import annotations

import pytest

from familiar_connect.conversation.channels import ChannelLabels


@pytest.mark.parametrize(
    ("kind", "parent", "label"),
    [
        ("text", None, "#n"),
        ("thread", "p", "#p -> n"),
        ("forum_post", "p", "forum:p -> n"),
        ("dm", None, "DM:n"),
        ("group_dm", None, "GroupDM:n"),
        ("voice", None, "voice:#n"),
        ("stage", None, "stage:#n"),
        ("forum_root", None, "forum-root:#n"),
        ("category", None, "category:#n"),
        ("thread", None, "#n"),
    ],
)
def test_each_kind_has_its_label(kind: str, parent: str | None, label: str) -> None:
    """The kind decides the form."""
    labels = ChannelLabels()

    labels.register_channel_context(7, name="n", kind=kind, parent_name=parent)

    assert labels.format_channel_context(7) == label


def test_an_unknown_channel_is_its_id() -> None:
    """Nothing is invented for a channel nobody named."""
    assert ChannelLabels().format_channel_context(42) == "42"


def test_a_name_alone_makes_a_text_channel() -> None:
    """The newest name counts."""
    labels = ChannelLabels()
    labels.register_channel_name(7, "old")
    labels.register_channel_name(7, "general")

    assert labels.format_channel_context(7) == "#general"
