"""A turn's messages as dialogue items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from familiar_connect.chat.message_parts import Attachment, Reaction, ReferencedMessage, Sticker, WebhookIdentity
from familiar_connect.chat.types import Showing, SimplifiedMessage, Turn, TurnOptions
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.budget import Budgeter
from familiar_connect.context.messages import is_dialogue
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.history.turn_items import turn_items
from familiar_connect.context.render import native_prompt
from familiar_connect.context.types import ContextItem, Contribution, ItemTag, Layer
from familiar_connect.history.store import HistoryStore
from familiar_connect.llm.scripted import ScriptedModel
from tests.fakes.chat import NOON, a_turn, message_by, our_message, with_settings
from tests.fakes.context import ADA, BO, a_piece, a_request, an_output

PNG = Attachment(url="https://x/a.png", mime="image/png", filename="a.png", proxy_url="https://p/a.png")
MP4 = Attachment(url="https://x/b.mp4", mime="video/mp4")


def lines(items: tuple[ContextItem, ...]) -> list[tuple[str, str]]:
    return [(item.role, item.text) for item in items]


async def items_of(*messages: Any, mode: ChannelMode | None = None, **more: Any) -> tuple[ContextItem, ...]:
    return turn_items(await a_turn(*messages, **more), mode)


# Roles and names


async def test_our_own_entries_are_the_assistants() -> None:
    """B100: other personas are users."""
    hook = WebhookIdentity(webhook_id="7", name="Mira")
    messages = [
        our_message("hello", 1),
        message_by("hi from Mira", BO, 2, webhook=hook, is_self=True),
        message_by("hi", ADA, 3),
    ]
    settings = with_settings(alters=("Mira",))

    assert [item.role for item in await items_of(*messages, settings=settings)] == ["assistant", "user", "user"]
    as_mira = await items_of(*messages, settings=settings, asked=TurnOptions(alter="Mira"))
    assert [item.role for item in as_mira] == ["user", "assistant", "user"]


async def test_while_imitating_the_imitated_person_is_the_assistant() -> None:
    """B100: everybody else is a user, ourselves too."""
    items = await items_of(
        our_message("hello", 1), message_by("yo", BO, 2), message_by("hi", ADA, 3), asked=TurnOptions(imitate=BO)
    )

    assert lines(items) == [("user", "Wren: hello"), ("assistant", "yo"), ("user", "Ada: hi")]


async def test_a_user_turn_begins_with_the_speaker() -> None:
    """B101, B17: notes stay in front; macros in the words are left alone."""
    target = ReferencedMessage(message_id="0", author=BO, text="tea?")
    items = await items_of(message_by("yes {{char}} {user}", ADA, 2, reply_to=target))

    assert items[0].text == '[System: ref_1 (Ada) answers ref_2 (Bo): "tea?"]\nAda: yes {{char}} {user}'
    assert (items[0].name, items[0].words) == ("Ada", "yes {{char}} {user}")


async def test_words_of_the_system_get_no_speaker() -> None:
    """B101: a join is nobody's speech."""
    items = await items_of(message_by("", BO, 1, kind="join"), message_by("hi", ADA, 2))

    assert (items[0].text, items[0].name, items[0].sender) == ("[System: Bo joined Tea House]", None, None)


async def test_own_turns_carry_a_name_where_there_are_alters() -> None:
    """B113: one switch; off by default."""
    messages = [our_message("hello", 1), message_by("hi", ADA, 2)]

    assert (await items_of(*messages))[0].text == "hello"
    assert (await items_of(*messages, settings=with_settings(alters=("Mira",))))[0].text == "Wren: hello"


async def test_notes_about_our_own_words_stand_before_them() -> None:
    """B110: never inside an assistant turn, and no turn of their own."""
    items = await items_of(
        our_message("hello", 1, reactions=(Reaction(label="❤", count=1, users=(ADA,)),)), message_by("hi", ADA, 2)
    )

    assert lines(items)[:2] == [
        ("user", "[System: about your own message below]\n[System: reactions: ❤ x1 by Ada]"),
        ("assistant", "hello"),
    ]
    assert [is_dialogue(item) for item in items] == [False, True, True]


# Marks and days


async def test_marks_of_the_mode_stand_before_the_speaker() -> None:
    """B111: the clock in a text channel, the pause in an imitated call."""
    messages = [message_by("hi", ADA, 1), message_by("yo", BO, 3)]

    assert [i.text for i in await items_of(*messages, mode=ChannelMode.text_conversation_rp)] == [
        "[12:01] Ada: hi",
        "[12:03] Bo: yo",
    ]
    assert [i.text for i in await items_of(*messages, mode=ChannelMode.imitate_voice)] == [
        "Ada: hi",
        "(about 2 minutes later) Bo: yo",
    ]
    timed = with_settings(include_timestamps=True)
    assert (await items_of(*messages, settings=timed))[0].text == "[12:01] Ada: hi"


async def test_the_first_time_of_another_day_comes_with_its_date() -> None:
    """Else talk of several days would read as that of one; where a note says so already, the time stands alone."""
    next_day = NOON + timedelta(days=1)
    messages = [
        message_by("hi", ADA, 1),
        message_by("morning", BO, 2, timestamp=next_day),
        message_by("hm", ADA, 3, timestamp=next_day),
    ]
    texts = [i.text for i in await items_of(*messages, mode=ChannelMode.text_conversation_rp)]
    noted = await items_of(
        *messages, mode=ChannelMode.text_conversation_rp, settings=with_settings(time_awareness=True), now=next_day
    )

    assert texts == ["[12:01] Ada: hi", "[Monday, 2026-03-02, 12:00] Bo: morning", "[12:00] Ada: hm"]
    assert [i.text for i in noted][2] == "[12:00] Bo: morning"


async def test_a_day_that_ends_is_told_where_time_matters() -> None:
    """B104: the previous day, absolute and relative; no turn, and gone with the entry it precedes."""
    messages = [message_by("hi", ADA, 1), message_by("morning", BO, 2, timestamp=NOON + timedelta(days=1))]
    now = NOON + timedelta(days=1)
    spaced = await items_of(*messages, settings=with_settings(time_awareness=True), now=now)

    assert [(i.tag, i.message_id, i.role) for i in spaced][1] == (ItemTag.DATE_SPACER, "date_spacer_2", "user")
    assert spaced[1].text == "[System: what was said above is from 2026-03-01 (yesterday)]"
    assert len(await items_of(*messages, now=now)) == 2


# Media


async def test_media_are_described_whatever_the_model_can_see() -> None:
    """B107, B109: kind, address, type, fallback, handle; a line says what was sent and by whom."""
    item = (await items_of(message_by("look", ADA, 1, attachments=(PNG, MP4))))[0]
    image, video = item.media

    assert item.text == "Ada: look\n[System: 1 image (media_1), 1 video (media_1) sent by Ada]"
    assert (image.kind, image.uri, image.mime, image.fallback_uri, image.media_id, image.within_window) == (
        "image",
        "https://x/a.png",
        "image/png",
        "https://p/a.png",
        "media_1",
        True,
    )
    assert (image.filename, video.kind, video.is_youtube) == ("a.png", "video", False)


async def test_a_message_of_media_alone_is_the_line_about_them() -> None:
    """B109: without a speaker."""
    assert (await items_of(message_by("", ADA, 1, attachments=(PNG,))))[
        0
    ].text == "[System: 1 image (media_1) sent by Ada]"


async def test_media_from_a_reply_are_told_apart() -> None:
    """B108, B109: where each came from."""
    target = ReferencedMessage(message_id="0", author=BO, text="", attachments=(PNG,))
    other = replace(PNG, url="https://x/other.png")
    turn = await a_turn(message_by("mine", ADA, 2, reply_to=target, attachments=(other,)))
    item = turn_items(turn)[0]

    assert item.text.split("\n")[-2:] == [
        "[System: 1 image (media_2) sent by Ada]",
        "[System: 1 image (media_1) from the message Ada answers]",
    ]
    assert {m.uri: turn.message_ids.resolve(m.media_id or "") for m in item.media} == {
        "https://x/other.png": "2",
        "https://x/a.png": "0",
    }


async def test_media_far_back_are_described_as_out_of_sight() -> None:
    """B105, B107: the window is ten entries; emojis are never described."""
    messages = [message_by("look", ADA, 1, attachments=(PNG,))]
    messages += [message_by(f"{n}", BO if n % 2 else ADA, n) for n in range(3, 14)]
    items = await items_of(*messages)

    assert [(m.within_window, m.extend_by) for m in items[0].media] == [(False, 2)]


async def test_only_the_newest_pictured_messages_are_shown() -> None:
    """B106: three; older ones get one note with the count; stickers do not count; a picture sent twice shows once."""
    messages = [
        message_by("a", ADA, 1, attachments=(replace(PNG, url="1"), replace(PNG, url="1b"))),
        message_by("s", ADA, 2, stickers=(Sticker(name="wave", url="s"),)),
        message_by("b", BO, 3, attachments=(replace(PNG, url="2"), replace(PNG, url="4"))),
        message_by("c", ADA, 4, attachments=(replace(PNG, url="3"),)),
        message_by("d", BO, 5, attachments=(replace(PNG, url="4"),)),
    ]
    items = await items_of(*messages)

    assert [[m.uri for m in item.media] for item in items] == [[], ["s"], ["2"], ["3"], ["4"]]
    assert items[0].text.endswith("[System: 2 images not shown: newer ones came since]")


# Through the provider, the budget and the render


@pytest.fixture
def provider() -> Iterator[HistoryProvider]:
    store = HistoryStore(":memory:")
    store.append_turn(familiar_id="wren", channel_id=7, role="user", content="stored", author=ADA)
    yield HistoryProvider(store=store, llm_client=ScriptedModel([]))
    store.close()


async def dialogue(provider: HistoryProvider, turn: Turn | None, **more: Any) -> Contribution:
    found: list[Contribution] = await provider.contribute(a_request(turn=turn, **more))
    return next(each for each in found if each.source == "history:recent")


async def test_the_dialogue_is_exactly_the_turns_messages(provider: HistoryProvider) -> None:
    """B112: stored turns are shown only for a request whose turn brings none."""
    turn = await a_turn(our_message("hello", 1), message_by("hi", ADA, 2))
    brought = await dialogue(provider, turn)

    assert [item.text for item in brought.items] == ["hello", "Ada: hi"]
    assert brought.text == "assistant: hello\nuser (Ada): hi"
    assert [item.text for item in (await dialogue(provider, replace(turn, messages=()))).items] == ["Ada: stored"]


async def test_nothing_being_answered_is_ever_cut(provider: HistoryProvider) -> None:
    """The new messages stay whole however little room the layer has; older ones make way."""
    turn = await a_turn(
        *(message_by("old " * 20, ADA if n % 2 else BO, n) for n in range(6)), message_by("new " * 50, ADA, 9)
    )
    fresh = replace(turn.messages[-2], in_exchange=True)
    turn = replace(turn, messages=(*turn.messages[:-2], fresh, turn.messages[-1]))
    kept = Budgeter().fill([await dialogue(provider, turn)], {Layer.recent_history: 25}).kept[0]

    assert [item.fresh for item in kept.items][-2:] == [True, True]
    assert len(kept.items) == 3


async def test_what_changes_every_turn_stands_before_the_exchange(provider: HistoryProvider) -> None:
    """B114: and so does the note of an interruption, even where old and new words are one entry."""
    turn = await a_turn(
        message_by("old", BO, 1, history_id=1),
        message_by("missed", ADA, 2, history_id=2),
        message_by("new", ADA, 3, history_id=3),
    )
    request = a_request(turn=turn, before_id=3, interruption_context="You were cut off.")
    output = an_output(
        *await provider.contribute(request), a_piece("found", volatile=True, tag=ItemTag.FOUND), request=request
    )
    prompt = native_prompt(output)

    assert [item.text for item in prompt.items][1:] == ["Bo: old", "found", "You were cut off.", "Ada: missed\n> new"]
    assert prompt.message_ids is turn.message_ids


async def test_a_note_at_a_depth_counts_turns_only(provider: HistoryProvider) -> None:
    """B102, B104: spacers and notes about our words are no turns."""
    messages = [
        message_by("a", BO, 1),
        our_message("b", 2, reactions=(Reaction(label="❤", count=1),)),
        message_by("c", ADA, 3, timestamp=NOON + timedelta(days=1)),
    ]
    turn = await a_turn(*messages, settings=with_settings(time_awareness=True))
    request = a_request(turn=turn)
    note = a_piece("note", Layer.author_note, tag=ItemTag.AUTHOR_NOTE, role="user", depth=2)
    output = an_output(*await provider.contribute(request), note, request=request)
    texts = [item.text for item in native_prompt(output).items]

    assert texts.index("note") == texts.index("b") - 1


async def test_talk_that_resumes_in_a_scene_is_told_what_happened_elsewhere() -> None:
    """B112: the notes of role-play stand among a turn's messages as among stored ones."""
    store = HistoryStore(":memory:")
    provider = HistoryProvider(store=store, llm_client=ScriptedModel([]))
    store.append_turn(
        familiar_id="wren", channel_id=8, role="user", content="x", author=BO, timestamp=NOON + timedelta(minutes=5)
    )
    store.put_cross_context(
        familiar_id="wren",
        viewer_mode=ChannelMode.full_rp,
        source_channel_id=8,
        source_last_id=1,
        summary_text="Bo left.",
    )
    turn = await a_turn(message_by("a", ADA, 1), message_by("b", BO, 20))
    items = (await dialogue(provider, turn, mode=ChannelMode.full_rp)).items

    assert [item.text for item in items] == ["Ada: a", "Bo left.", "Bo: b"]
    store.close()


def test_good_places_to_cut_are_counted_from_the_first_ever_stored() -> None:
    """A merged entry is one if any of its messages is; without a count the message's id decides, for good."""
    base = Turn(familiar_id="wren", channel_id=7, said=(), showing=Showing(now=datetime(2026, 3, 1, tzinfo=UTC)))
    entry = {"author_id": "1", "author_name": "Ada", "author_type": "user", "content": "x"}

    messages = (
        SimplifiedMessage(id="a", ordinal=20, **entry),  # type: ignore[arg-type]
        SimplifiedMessage(id="b", ordinal=28, combined_message_ids=("b", "c", "d"), **entry),  # type: ignore[arg-type]
        SimplifiedMessage(id="e", ordinal=31, **entry),  # type: ignore[arg-type]
    )

    assert [item.anchor for item in turn_items(replace(base, messages=messages))] == [True, True, False]
