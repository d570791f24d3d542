"""Scripts on Discord make views; what people wrote and what the model wrote stays, through the library itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HistoryError
from familiar_connect.history.outbox import OutboxRows
from familiar_connect.presets.regex_scripts import read_scripts
from familiar_connect.presets.regex_store import RegexStore, script_fingerprint
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.scripted_familiar import scripted_familiar
from tests.fakes.waiting import until

SCRIPTS: list[dict[str, Any]] = [
    {"scriptName": "Debt", "findRegex": "/water/g", "replaceString": "owe", "placement": [1]},
    {"scriptName": "Loud", "findRegex": "/quiet/g", "replaceString": "LOUD", "placement": [2]},
]


def allow_scripts(root: Path) -> None:
    """Give the familiar scripts, with its owner's yes."""
    consent = OwnerConsent(root.parent.parent, root.name)
    RegexStore(FamiliarFolder(root).regex_file, consent).add(SCRIPTS)
    consent.allow_scripts({script_fingerprint(each): each.name for each in read_scripts(SCRIPTS, origin="own")})


def words_and_views(den: FamiliarOnDiscord) -> list[tuple[str, str | None]]:
    mention = f"<@{den.server.world.bot.id}> "
    return [
        (turn.content.removeprefix(mention), turn.view and turn.view.removeprefix(mention)) for turn in den.history()
    ]


def last_prompt(den: FamiliarOnDiscord) -> str:
    return "\n".join(str(message.content) for message in den.model.calls[-1])


async def test_scripts_change_prompts_and_posts_and_no_stored_word(tmp_path: Path) -> None:
    """Neither of what was heard, nor of what the model wrote; an edit on Discord is heard as raw as the message."""
    async with familiar_on_discord(tmp_path, ["A quiet yes.", "Mm."]) as den:
        allow_scripts(den.familiar.root)
        said = await den.mention("please water the plants")
        assert await den.server.until_replied(den.room) == ["A LOUD yes."]
        await den.wait_until_idle()
        assert words_and_views(den) == [
            ("please water the plants", "please owe the plants"),
            ("A quiet yes.", "A LOUD yes."),
        ]
        assert "please owe the plants" in last_prompt(den)

        await den.server.edit(den.room, said, f"<@{den.server.world.bot.id}> water them twice")
        await until(lambda: words_and_views(den)[0] == ("water them twice", "owe them twice"))
        await den.mention("and?")
        await den.server.until_replied(den.room, 2)
        assert "owe them twice" in last_prompt(den)
        assert "A LOUD yes." in last_prompt(den)


async def test_the_models_words_outlive_an_end_between_posting_and_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start finds the post and records what was written; the post is its view, and nothing is said twice."""

    def die(*_: object, **__: object) -> None:
        raise HistoryError("the program ends here")

    async with familiar_on_discord(tmp_path, ["A quiet yes."], arrive=False) as den:
        allow_scripts(den.familiar.root)
        with monkeypatch.context() as patched:
            patched.setattr(OutboxRows, "finish", die)
            await den.connect()
            await den.mention("please water the plants")
            await den.server.until_replied(den.room)
            await den.wait_until_idle()
            await den.disconnect()
        assert len(den.history()) == 1
        async with scripted_familiar(tmp_path, [], subscribed=False) as later:
            again = replace(den, familiar=later.familiar, model=later.model, platform=None, running=None)
            try:
                await again.connect()
                await until(lambda: len(again.history()) == 2)
            finally:
                await again.disconnect()
            assert words_and_views(again)[1] == ("A quiet yes.", "A LOUD yes.")
            assert den.server.replies_in(den.room) == ["A LOUD yes."]
            assert later.familiar.history_store.database.read("SELECT facts FROM outbox") == [(None,)]
