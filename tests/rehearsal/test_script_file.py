"""Reading a rehearsal file: everything it may hold, and a sentence with the place and the fix for all it may not."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.scene import ChannelKind
from familiar_connect.chat.transcript_file import FIRST_MOMENT
from familiar_connect.errors import ConfigError
from familiar_connect.rehearsal.script_file import parse_rehearsal, read_rehearsal
from familiar_connect.rehearsal.types import Expect, Hear, Rehearsal, Say, ScriptedAnswer, Slash, Upkeep

TEA: dict[str, Any] = {
    "people": {"ada": {"name": "Ada"}, "bo": {}},
    "places": {"tea": {"server": "Tea House"}, "dm": {"kind": "dm", "members": ["ada"]}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def read(*steps: dict[str, Any], **changes: Any) -> Rehearsal:
    return parse_rehearsal({**TEA, **changes, "steps": list(steps)}, "week.json")


def say(**more: Any) -> dict[str, Any]:
    return {"in": "tea", "by": "ada", "say": "hi", **more}


def complaint(*steps: Any, **changes: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read(*steps, **changes)
    return str(caught.value)


def sentence_about(data: object) -> str | None:
    """What is wrong with *data*; None: nothing is."""
    try:
        parse_rehearsal(data)
    except ConfigError as error:
        return str(error)
    return None


def test_ids_that_are_not_given_are_numbered_in_file_order() -> None:
    """People from 1001, servers 2001, places 3001; the owner is 1."""
    found = read(say())

    assert [(key, person.user_id, person.name) for key, person in found.people.items()] == [
        ("owner", "1", "Owner"),
        ("ada", "1001", "Ada"),
        ("bo", "1002", "bo"),
    ]
    assert [(place.channel_id, place.server_id) for place in found.places.values()] == [(3001, 2001), (3002, None)]


def test_who_reads_a_place_is_everyone_unless_it_says_otherwise() -> None:
    """An open place is everybody's, a hidden one its members', a direct message its people's."""
    places = {"tea": {}, "staff": {"hidden": True, "members": ["bo"]}, "dm": {"kind": "dm", "members": ["ada"]}}
    found = read(say(), places=places)

    assert [place.members for place in found.places.values()] == [("owner", "ada", "bo"), ("bo",), ("ada",)]
    assert found.places["dm"].kind is ChannelKind.dm


def test_a_step_is_a_minute_later_unless_it_says_when() -> None:
    """`at`, else `after` the step before, else a minute."""
    found = read(say(), say(), say(after="1h30m"), say(after=5), say(at="2026-02-01T00:00:00+02:00"))

    assert [step.at for step in found.steps] == [
        FIRST_MOMENT,
        FIRST_MOMENT + timedelta(minutes=1),
        FIRST_MOMENT + timedelta(hours=1, minutes=31),
        FIRST_MOMENT + timedelta(hours=1, minutes=31, seconds=5),
        datetime(2026, 1, 31, 22, tzinfo=UTC),
    ]


def test_messages_are_numbered_by_step_or_have_their_own_id() -> None:
    """So that a later step can point at them."""
    found = read(say(), {"tidy": True}, say(), say(id="mine"))

    assert [step.action.message_id for step in found.steps if isinstance(step.action, Say)] == ["s1", "s3", "mine"]


def test_scripts_of_models_are_read_with_their_kinds_of_answers() -> None:
    """A plain text is used once, one with `when` again and again."""
    said = ["Hello!", {"when": "kettle", "say": "Copper."}, {"fails": 500}, {"silent": True}, {"tool": "remember"}]
    found = read(say(), models={"main_prose": {"say": said}, "memory_writer": "echo"})

    assert found.models["main_prose"].answers == (
        ScriptedAnswer(say="Hello!", times=1),
        ScriptedAnswer(say="Copper.", when="kettle"),
        ScriptedAnswer(fails=500, times=1),
        ScriptedAnswer(times=1),
        ScriptedAnswer(tool="remember", times=1),
    )
    assert found.models["memory_writer"].is_echo


def test_a_slash_step_takes_words_a_list_or_named_options() -> None:
    """The words after the name, as they would be typed."""
    found = read(
        {"slash": "/channel-backdrop", "args": "A tea house.", "in": "tea", "by": "ada"},
        {"slash": "context", "in": "tea"},
    )

    assert [step.action for step in found.steps] == [
        Slash(place="tea", person="ada", command="channel-backdrop", words="A tea house."),
        Slash(place="tea", person="owner", command="context"),
    ]


def test_a_conversation_file_is_a_rehearsal_of_which_the_last_message_is_answered() -> None:
    """As `familiar prompt` reads it: one place, every message a step."""
    found = parse_rehearsal({"messages": [{"author": "ada", "text": "hi"}, {"author": "bo", "text": "ho"}]})

    assert [isinstance(step.action, Hear) and step.action.is_answered for step in found.steps] == [False, True]
    assert list(found.places) == ["here"]


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({}, "week.json: steps[0]: says not what happens; it takes one of"),
        ({"sya": "hi"}, "week.json: steps[0]: says not what happens; did you mean `say`?"),
        (say(tidy=True), "steps[0]: has tidy and say; it takes one of"),
        (say(mentoin=True), "steps[0]: `mentoin` means nothing here; did you mean `mention`?"),
        ({"in": "taa", "by": "ada", "say": "hi"}, "`in` names no place: 'taa'; did you mean 'tea'?"),
        ({"in": "tea", "by": "adda", "say": "hi"}, "`by` names no person: 'adda'; did you mean 'ada'?"),
        ({"in": "tea", "say": "hi"}, "steps[0]: has no `by`; add one"),
        ({"in": "dm", "by": "bo", "say": "hi"}, "bo is not a member of the direct message dm; add them"),
        (say(at="yesterday"), "`at` must be a time such as 2026-03-01T12:00:00+00:00, not a text"),
        (say(after="soon"), "`after` must be a time such as 30s, 10m, 2h, 1h30m or 3d, not 'soon'"),
        (say(after="1h", at="2026-03-01"), "has both `at` and `after`"),
        ({"slash": "/chanel-full-rp", "in": "tea"}, "there is no slash command /chanel-full-rp; did you mean /channel"),
        ({"file": "../x", "write": "y"}, "`file` must be a path inside the familiar's folder, not '../x'"),
        ({"file": "x"}, "must have one of `write`, `append` and `remove`"),
        ({"restart": "soft"}, '`restart` must be true or "kill"'),
        ({"write_up": 1}, "`write_up` must be true"),
        ({"edit": "last", "in": "tea"}, "has no `say`; add what the message reads now, or use `delete`"),
        ({"expect": {}}, "expect: expects nothing; name at least one of"),
        ({"expect": {"no_reply": True, "said_has": "x"}}, "`no_reply` and `said_has` cannot both be so"),
        ({"expect": {"said_matches": "("}}, "`said_matches` is not a regular expression"),
        ({"expect": {"calls": {"main": 1}}}, "`main` means nothing here; there are"),
        ({"expect": {"prompt_has": []}}, "`prompt_has` must name at least one text"),
        ({"expect": {"file_has": {"/etc/passwd": ["x"]}}}, "must be a path inside the familiar's folder"),
    ],
)
def test_a_step_that_makes_no_sense_is_named_with_its_place_and_the_fix(step: dict[str, Any], sentence: str) -> None:
    """One sentence each."""
    assert sentence in complaint(step)


def test_what_is_wrong_outside_of_the_steps_is_named_too() -> None:
    """People, places, models, familiar and order."""
    assert "holds no steps" in complaint()
    assert "names no places" in complaint(say(), places={})
    assert "have the same id 7" in complaint(say(), people={"ada": {"id": "7"}, "bo": {"id": "7"}})
    assert "a direct message needs `members`" in complaint(say(), places={"tea": {"kind": "dm"}})
    assert "`main_prosa` means nothing here; did you mean `main_prose`?" in complaint(say(), models={"main_prosa": {}})
    assert '`main_prose` must be "echo" or an object' in complaint(say(), models={"main_prose": "parrot"})
    assert "`fails` must be an HTTP status" in complaint(say(), models={"main_prose": {"say": [{"fails": 20}]}})
    assert "both `card` and `base`" in complaint(say(), familiar={"card": "a.png", "base": "mira"})
    early = complaint(say(at="2026-03-02"), say(at="2026-03-01"))
    assert "steps[1]: `at` lies before the step above it, at 2026-03-02T00:00:00+00:00" in early


def test_a_file_that_is_no_json_or_not_there_is_a_sentence(tmp_path: Path) -> None:
    """It names the file."""
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")

    with pytest.raises(ConfigError, match=r"broken\.json: is not valid JSON"):
        read_rehearsal(broken)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_rehearsal(tmp_path / "none.json")


@given(JSON)
def test_any_json_is_a_rehearsal_or_a_sentence(data: object) -> None:
    """Never a traceback."""
    assert "\n" not in (sentence_about(data) or "")


@given(st.sampled_from(["people", "places", "models", "steps", "familiar"]), JSON)
def test_any_part_may_be_broken_and_is_a_sentence(part: str, data: object) -> None:
    """With the rest in order."""
    sentence = sentence_about({**TEA, "steps": [say()], part: data})

    assert sentence is None or sentence.startswith("rehearsal")


@given(st.dictionaries(st.sampled_from(["in", "by", "say", "edit", "react", "expect", "file", "slash", "at"]), JSON))
def test_any_step_is_read_or_is_a_sentence(step: dict[str, Any]) -> None:
    """Whatever stands in its keys."""
    sentence = sentence_about({**TEA, "steps": [say(), step]})

    assert sentence is None or "steps[1]" in sentence


def test_the_example_of_the_guide_is_read_whole() -> None:
    """Every kind of step it holds."""
    text = (Path(__file__).parent.parent.parent / "examples" / "rehearse" / "week_among_friends.json").read_text(
        "utf-8"
    )
    kinds = {type(step.action) for step in parse_rehearsal(json.loads(text)).steps}

    assert {Say, Expect, Upkeep, Slash} <= kinds


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({"webhook": {"name": "Luna"}}, "`webhook` is only for a Discord channel; stream is none"),
        ({"proxy": "Luna"}, "`proxy` is only for a Discord channel; stream is none"),
        ({"allow": ["bo"]}, "`allow` is only for a channel of a Discord server; stream is none"),
    ],
)
def test_what_takes_a_server_is_refused_elsewhere(step: dict[str, object], sentence: str) -> None:
    """With the platform that has servers, as people call it."""
    said = say() if "allow" not in step else {}
    places = {"stream": {"platform": "twitch"}}

    assert sentence in complaint({**said, "in": "stream", **step}, places=places)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ({"platform": "twitch", "deny": ["bo"]}, "a place on twitch; take it out, or use a Discord channel"),
        ({"except": ["boo"]}, "places.tea: except: there is no 'boo'; did you mean 'bo'?"),
        ({"deny": ["keeprs"]}, "places.tea: deny: there is no 'keeprs'; did you mean 'keepers'?"),
        ({"roles": {"keepers": ["boo"]}}, "places.tea: roles.keepers: there is no 'boo'; did you mean 'bo'?"),
        ({"allow": ["bo"], "except": ["bo"]}, "places.tea: bo is both let in and shut out; keep the one that is meant"),
        ({"kind": "dm", "members": ["bo"], "except": ["bo"]}, "`except` means nothing for a direct message"),
    ],
)
def test_who_is_let_in_is_checked_by_name(place: dict[str, object], sentence: str) -> None:
    """File, place, key and fix in one sentence."""
    data = {
        "people": {"bo": {"roles": ["keepers"]}},
        "places": {"tea": place},
        "steps": [{"in": "tea", "by": "bo", "say": "Hello."}],
    }
    with pytest.raises(ConfigError) as raised:
        parse_rehearsal(data, "file.json")

    assert str(raised.value).startswith("file.json: ")
    assert sentence in str(raised.value)
