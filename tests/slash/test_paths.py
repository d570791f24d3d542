"""No answer to anybody but the operator says where the owner's files lie."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.slash.command import SlashContext, SlashPlace, run_command
from familiar_connect.slash.registry import COMMANDS
from tests.fakes.scripted_familiar import ANA, CHANNEL, scripted_familiar

PATH = re.compile(r"(?<![\w:/.])(?:/[\w.+-]+){2,}")
"""Two folders below the root, in running text."""


def break_channel(root: Path) -> None:
    (root / "channels" / f"{CHANNEL}.toml").write_text("mode = [", encoding="utf-8")


def break_presets(root: Path) -> None:
    (root / "presets").mkdir(exist_ok=True)
    (root / "presets" / "broken.json").write_text("{", encoding="utf-8")
    (root / "channels" / f"{CHANNEL}.toml").write_text('preset = "broken"', encoding="utf-8")


def break_history(root: Path) -> None:
    for path in root.glob("history.db*"):
        path.write_bytes(b"no database at all" * 1000)


@pytest.mark.parametrize("break_it", [break_channel, break_presets, break_history])
async def test_no_slash_answer_names_a_path_to_anybody_but_the_operator(tmp_path: Path, break_it: object) -> None:
    """Every command there is, with and without words, by somebody who may manage the channel."""
    assert callable(break_it)
    async with scripted_familiar(tmp_path, lambda _: "Mm.") as house:
        await house.talk("hello")
        break_it(house.familiar.root)
        place = SlashPlace(channel=ChannelContext("den", ChannelKind.text), guild_id=700)
        for wanted in COMMANDS:
            for words in ("", "1", "use broken", "confirm", "full"):
                ctx = SlashContext(
                    channel_id=CHANNEL,
                    author=ANA,
                    is_operator=False,
                    may_manage=True,
                    may_control=True,
                    place=place,
                    answers_at=house.place,
                    words=words,
                )
                reply = await run_command(wanted, ctx, house.familiar)
                shown = f"{reply.text}\n{reply.file.text if reply.file else ''}"
                assert str(tmp_path) not in shown, wanted.name
                assert not PATH.search(reply.text), (wanted.name, reply.text)
