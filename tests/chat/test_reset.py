"""What a turn knows of the moment a conversation was begun anew."""

from __future__ import annotations

from familiar_connect.chat.build import build_turn
from familiar_connect.chat.message_parts import Embed
from tests.fakes.chat import PERSONA, FakeChannel, an_exchange, message_by, minutes, our_message
from tests.fakes.context import ADA, BO


async def test_a_turn_knows_when_its_channel_was_reset() -> None:
    """G7: by the newest mark of ours; somebody else's is none. Notes from before it no longer count."""
    messages = [
        our_message("", 1, embeds=(Embed(notice="reset"),)),
        our_message("", 3, embeds=(Embed(notice="reset"),)),
        message_by("x", BO, 4, embeds=(Embed(notice="reset"),)),
        message_by("hello", ADA, 5),
    ]

    turn = await build_turn(an_exchange(messages[-1]), FakeChannel(messages), settings=PERSONA)
    plain = await build_turn(an_exchange(messages[-1]), FakeChannel(messages[2:]), settings=PERSONA)

    assert turn.reset_at == minutes(3)
    assert plain.reset_at is None
