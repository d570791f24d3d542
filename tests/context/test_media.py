"""Pictures and films of a prompt, for a model that sees and for one that does not."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.types import MediaDescriptor
from familiar_connect.context.media import FetchedMedia, resolve_media
from familiar_connect.context.messages import to_messages
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.context.window_fit import fit_to_model
from familiar_connect.llm.types import Capabilities, ImagePart, TextPart, VideoPart
from tests.fakes.context import said

SEEING = Capabilities(vision=True, video=True)
BLIND = Capabilities()


def picture(name: str = "a", **more: Any) -> MediaDescriptor:
    facts: dict[str, Any] = {"kind": "image", "uri": f"http://x/{name}.png", "mime": "image/png", "media_id": "media_1"}
    return MediaDescriptor(**facts | more)


def film(**more: Any) -> MediaDescriptor:
    facts: dict[str, Any] = {"kind": "video", "uri": "http://x/v.mp4", "mime": "video/mp4", "media_id": "media_2"}
    return MediaDescriptor(**facts | more)


def showing(*media: MediaDescriptor, role: Any = "user", text: str = "Ada: look") -> ContextItem:
    item = said(role, text)
    return ContextItem(role=role, parts=item.parts, tag=item.tag, source=item.source, media=media, message_id="5")


def resolved(*items: ContextItem, capabilities: Capabilities = SEEING, **more: Any) -> tuple[ContextItem, ...]:
    return resolve_media(Prompt(items=items), capabilities, **more).items


descriptors = st.builds(
    MediaDescriptor,
    kind=st.sampled_from(["image", "video"]),
    uri=st.sampled_from(["http://x/1", "http://x/2", "http://x/3"]),
    mime=st.sampled_from([None, "image/png", "video/mp4"]),
    media_id=st.sampled_from([None, "media_1", "media_2"]),
    within_window=st.booleans(),
    is_youtube=st.booleans(),
)
items = st.builds(
    lambda role, text, media: showing(*media, role=role, text=text),
    st.sampled_from(["user", "assistant", "system"]),
    st.text(max_size=20),
    st.lists(descriptors, max_size=3),
)
models = st.builds(
    Capabilities,
    vision=st.booleans(),
    video=st.booleans(),
    strict_roles=st.booleans(),
    bare_single_speaker=st.booleans(),
    window=st.sampled_from([None, 300]),
)


@given(st.lists(items, max_size=6), models, models)
def test_two_attempts_start_from_the_same_base(
    shown: list[ContextItem], one: Capabilities, other: Capabilities
) -> None:
    """F2, F10: the base is unchanged whatever was attempted, so a later attempt sends what a first one would have."""
    base = Prompt(items=tuple(shown))
    before = repr(base)
    first = to_messages(fit_to_model(resolve_media(base, other), other).items, other)
    to_messages(fit_to_model(resolve_media(base, one), one).items, one)

    assert repr(base) == before
    assert to_messages(fit_to_model(resolve_media(base, other), other).items, other) == first


@given(st.lists(items, max_size=6), models)
def test_no_descriptor_is_left_and_no_line_of_ours_is_the_assistants(
    shown: list[ContextItem], capabilities: Capabilities
) -> None:
    """F10, F15: descriptors go; what must be said about an assistant's media stands before it, as a user's turn."""
    after = resolved(*shown, capabilities=capabilities)
    own = [item.text for item in after if item.role == "assistant"]

    assert not any(item.media for item in after)
    assert set(own) <= {item.text for item in shown if item.role == "assistant"}


def test_a_prompt_without_media_is_the_same_one() -> None:
    """F10: nothing to do is nothing done."""
    prompt = Prompt(items=(said("user", "hi"),))

    assert resolve_media(prompt, SEEING) is prompt


@pytest.mark.parametrize(("capabilities", "word"), [(SEEING, "replying"), (BLIND, "cannot be viewed")])
def test_media_too_far_back_gets_one_notice(capabilities: Capabilities, word: str) -> None:
    """F11: also for a blind model; nothing of it is shown."""
    (item,) = resolved(showing(picture(within_window=False), film(within_window=False)), capabilities=capabilities)

    assert item.text.count("[System:") == 1
    assert word in item.text
    assert "media_1, media_2" in item.text
    assert all(isinstance(part, TextPart) for part in item.parts)


def test_a_seeing_model_is_shown_media_first_then_notices_then_words() -> None:
    """F12, F14: parts in this order."""
    (item,) = resolved(
        showing(picture(), film(), picture("b")),
        brought={
            "http://x/a.png": FetchedMedia("data:1", "image/png"),
            "http://x/b.png": FetchedMedia(trouble="it is too large"),
            "http://x/v.mp4": FetchedMedia("data:2", "video/mp4"),
        },
    )

    assert [type(part) for part in item.parts] == [ImagePart, VideoPart, TextPart, TextPart]
    assert item.text == "[System: 1 image (media_1) cannot be shown: it is too large]\nAda: look"
    assert [message.content for message in to_messages([item])] == [item.text]
    assert len(to_messages([item])[0].media) == 2


def test_a_picture_of_unknown_type_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """F12: with a warning that tells nothing of what was said."""
    with caplog.at_level(logging.WARNING):
        (item,) = resolved(showing(picture(mime=None)))

    assert item.parts == (TextPart("Ada: look"),)
    assert len(caplog.records) == 1


def test_a_blind_model_is_told_how_many_there_are() -> None:
    """F12, F13: one notice for the pictures and one for the films, with their handles."""
    (item,) = resolved(showing(picture(), picture("b", media_id="media_3"), film()), capabilities=BLIND)

    assert item.text == (
        "[System: 2 images (media_1, media_3): you cannot see them]\n[System: 1 video (media_2): you cannot see it]\n"
        "Ada: look"
    )


def test_the_tool_that_describes_pictures_is_named_only_if_there_is_one() -> None:
    """F12: and never for films."""
    (item,) = resolved(showing(picture(), film()), capabilities=BLIND, vision_tool="analyse")

    assert item.text.count("`analyse`") == 1
    assert "`" not in resolved(showing(picture()), capabilities=BLIND)[0].text


def test_a_model_may_see_pictures_and_no_films() -> None:
    """F13: each kind by itself."""
    (item,) = resolved(showing(picture(), film()), capabilities=Capabilities(vision=True))

    assert [type(part) for part in item.parts] == [ImagePart, TextPart, TextPart]
    assert "1 video (media_2)" in item.text


def test_a_youtube_film_is_sent_by_its_address() -> None:
    """F13: nobody fetches it."""
    (item,) = resolved(showing(film(uri="https://www.youtube.com/watch?v=x", mime=None, is_youtube=True)), brought={})

    assert isinstance(item.parts[0], VideoPart)
    assert item.parts[0].is_youtube


def test_what_an_assistant_sent_stays_with_it_and_is_then_moved() -> None:
    """F15, F32: lines before it, and the picture in a user's turn behind it that names the sender."""
    after = resolved(showing(picture(), film(), role="assistant", text="Here."), capabilities=Capabilities(vision=True))
    sent = to_messages(after)

    assert [(item.role, len(item.parts)) for item in after] == [("user", 1), ("assistant", 2)]
    assert [(message.role, bool(message.media)) for message in sent] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
    ]
    assert sent[2].content == "[System: 1 image sent by you]"


def test_a_model_shown_bare_words_keeps_the_notice() -> None:
    """F11: in a line of its own, for its words stand without anything before them."""
    item = ContextItem(
        role="user", parts=(TextPart("Ada: look"),), tag=ItemTag.DIALOGUE, words="look", media=(picture(),)
    )
    bare = Capabilities(bare_single_speaker=True)
    sent = to_messages(resolved(item, capabilities=bare), bare)

    assert [message.content for message in sent] == ["[System: 1 image (media_1): you cannot see it]", "look"]


def test_a_file_that_lies_about_its_type_is_told() -> None:
    """It is shown as what it is, and the model knows."""
    lying = {"http://x/a.png": FetchedMedia("data:1", "image/jpeg", "it says it is image/png and is image/jpeg")}
    (item,) = resolved(showing(picture()), brought=lying)

    assert isinstance(item.parts[0], ImagePart)
    assert item.parts[0].mime == "image/jpeg"
    assert "image/png and is image/jpeg" in item.text


def test_a_shortened_message_keeps_its_picture() -> None:
    """F20: media is free, so it does not go when words must."""
    (item,) = resolved(showing(picture(), text="x" * 50_000))
    fitted = fit_to_model(Prompt(items=(item,)), Capabilities(window=400, max_output=100))

    assert [type(part) for part in fitted.items[0].parts] == [ImagePart, TextPart]


def test_a_notice_goes_with_the_turn_it_is_about() -> None:
    """F21: when that turn has to go, and date spacers with it."""
    spacer = ContextItem.of("user", "D", tag=ItemTag.DATE_SPACER)
    old = resolved(showing(picture(), role="assistant", text="a" * 2000), capabilities=BLIND)
    prompt = Prompt(items=(said("user", "q" * 800), spacer, *old, said("user", "new")))

    assert [item.text for item in fit_to_model(prompt, Capabilities(window=400, max_output=100)).items] == ["new"]
