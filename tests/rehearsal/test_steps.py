"""Playing steps: each kind does to the real program what a live platform would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.commands.rehearsal_home import make_rehearsal_home
from familiar_connect.familiar import Familiar
from familiar_connect.rehearsal.models import CallLog
from familiar_connect.rehearsal.play import PlaySettings, play_rehearsal
from familiar_connect.rehearsal.player import StepResult
from familiar_connect.rehearsal.script_file import parse_rehearsal
from familiar_connect.rehearsal.types import ModelScript
from familiar_connect.rehearsal.world import RehearsalWorld
from familiar_connect.support.clock import SystemClock
from tests.fakes.rehearsal import TEA_HOUSE, rehearse

pytestmark = pytest.mark.slow  # each plays a rehearsal, and the first loads what searches by meaning

TO_EMBER = {"in": "tea", "by": "ada", "mention": True}


def hello(text: str = "Ember, hello!", **more: Any) -> dict[str, Any]:
    return {**TO_EMBER, "say": text, **more}


def scripted(*said: Any, **more: Any) -> dict[str, Any]:
    return {"main_prose": {"say": list(said), **more}}


def test_what_is_said_to_it_is_answered_in_its_place(tmp_path: Path) -> None:
    """A mention, a name in the text and a direct message; talk among others is let pass."""
    played = rehearse(
        tmp_path,
        hello("What is new?"),
        {"in": "tea", "by": "bo", "say": "Ember, and you?"},
        {"in": "dm-ada", "by": "ada", "say": "Are you there?"},
        {"in": "tea", "by": "bo", "say": "I am off."},
        {"after": "1s", "in": "tea", "by": "ada", "say": "So am I."},
    )

    spoke = [[reply.place for reply in step.replies] for step in played.steps]
    assert spoke == [["tea"], ["tea"], ["dm-ada"], [], []]


def test_answers_with_when_come_first_plain_ones_once_and_then_otherwise(tmp_path: Path) -> None:
    """As the file orders them; `times` bounds one."""
    models = scripted("One.", {"when": "KETTLE", "say": "Copper.", "times": 2}, "Two.", otherwise="Mm.")
    texts = ["hi", "the kettle?", "hi", "kettle", "kettle", "hi"]
    played = rehearse(tmp_path, *(hello(text) for text in texts), models=models)

    said = [reply.text for step in played.steps for reply in step.replies]
    assert said == ["One.", "Copper.", "Two.", "Copper.", "Mm.", "Mm."]


def test_a_failing_model_is_asked_again_after_simulated_pauses(tmp_path: Path) -> None:
    """Two failures cost two retries, and no real time."""
    played = rehearse(
        tmp_path,
        hello(),
        {"expect": {"reply_in": "tea", "said_has": "There.", "calls": {"main_prose": 3}}},
        models=scripted({"fails": 500, "times": 2}, "There."),
    )

    assert played.failed == []
    assert (played.steps[0].replies[0].at - played.steps[0].step.at).total_seconds() > 3


def test_a_failure_that_stays_is_told_in_the_place_and_is_no_reply(tmp_path: Path) -> None:
    """As people would see it."""
    played = rehearse(tmp_path, hello(), {"expect": {"no_reply": True}}, models=scripted({"fails": 401}))

    assert played.failed == []
    assert "No reply: " in played.steps[0].notices[0].text


def test_a_silent_model_is_asked_again_once_and_then_it_is_said(tmp_path: Path) -> None:
    """F4: as people would see it."""
    played = rehearse(
        tmp_path,
        hello(),
        {"expect": {"no_reply": True, "calls": {"main_prose": 2}, "prompt_has": "hello"}},
        models=scripted({"silent": True}, {"silent": True}),
    )

    assert played.failed == []
    assert "answered with nothing" in played.steps[0].notices[0].text


def test_a_slow_model_costs_simulated_time(tmp_path: Path) -> None:
    """The reply is not there before it can be."""
    played = rehearse(
        tmp_path,
        hello(),
        {"after": "10s", "expect": {"no_reply": True}},
        {"after": "15s", "expect": {"reply_in": "tea", "said_has": "At last."}},
        models=scripted({"delay_s": 20, "say": "At last."}),
    )

    assert played.failed == []


def test_a_tool_is_used_where_the_settings_offer_it(tmp_path: Path) -> None:
    """What it gave is looked at; a tool nobody offers is a mistake of the file."""
    call = {"tool": "remember", "arguments": {"content": "Ada likes rain.", "scope": "target_user", "target": "Ada"}}
    played = rehearse(
        tmp_path,
        hello(),
        {
            "expect": {
                "tool_has": "saved",
                "tool_lacks": "refused",
                "file_has": {"memory/people/discord-101.md": "rain"},
            }
        },
        settings='tools = ["remember"]\n',
        models=scripted(call, "Noted."),
    )
    unoffered = rehearse(tmp_path / "other", hello(), models=scripted(call, "Noted."))

    assert played.failed == []
    assert unoffered.failed == [
        "the script of main_prose uses the tool 'remember' and it is offered none; name it in `tools`"
    ]


def test_an_unscripted_call_fails_its_step(tmp_path: Path) -> None:
    """Where only scripts may be asked."""
    played = rehearse(tmp_path, hello(), models={})

    assert played.failed == ["main_prose was asked and has no script: name it under `models`"]
    assert played.outcome.failed == 1


def test_an_edited_message_reads_anew_and_a_deleted_one_is_gone(tmp_path: Path) -> None:
    """In the prompt of the next reply."""
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "bo", "say": "The code is 1111."},
        {"in": "tea", "by": "bo", "say": "A slip of the tongue.", "id": "slip"},
        {"edit": "s1", "in": "tea", "say": "The code is 2222."},
        {"delete": "slip", "in": "tea", "by": "bo"},
        hello(),
        {"expect": {"prompt_has": "2222", "prompt_lacks": ["1111", "slip of the tongue"]}},
        {"edit": "none", "in": "tea", "say": "x"},
    )

    assert played.failed == ["there is no message 'none' in tea to change"]


def test_reactions_and_replies_point_at_what_stands_there(tmp_path: Path) -> None:
    """At a message or at the last reply; answering the familiar is talking to it."""
    played = rehearse(
        tmp_path,
        hello("Ember, say something."),
        {"react": "☕", "to": "last reply", "by": "bo", "in": "tea"},
        {"react": "🌧", "to": "s1", "by": "bo", "in": "tea"},
        {"in": "tea", "by": "bo", "say": "Really?", "reply_to": "last reply"},
        {"expect": {"reply_in": "tea", "prompt_has": ["☕", "🌧"]}},
        {"react": "☕", "to": "s99", "by": "bo", "in": "tea"},
        models=scripted("It rains."),
    )

    assert played.failed == ["there is no 's99' in tea to react to"]


def test_what_comes_with_a_message_reaches_the_prompt(tmp_path: Path) -> None:
    """Pictures, stickers and what was passed on."""
    played = rehearse(
        tmp_path,
        hello(
            "look",
            attachments=[{"url": "https://example.org/cat.png", "filename": "cat.png", "mime": "image/png"}],
            stickers=["wave"],
            forwards=[{"author": "bo", "text": "PASSED ON"}],
        ),
    )

    assert "PASSED ON" in played.prompt(1)
    assert "wave" in played.prompt(1)
    assert "1 image" in played.prompt(1)


def test_a_webhook_is_a_person_only_where_an_application_speaks_through_it(tmp_path: Path) -> None:
    """As on Discord with the usual setting."""
    played = rehearse(
        tmp_path,
        hello(webhook={"name": "News"}),
        {"expect": {"no_reply": True}},
        hello(webhook={"name": "Luna", "application": "5"}),
        {"expect": {"reply_in": "tea", "prompt_has": ["Luna"]}},
    )

    assert played.failed == []


def test_spoken_words_are_heard_where_all_is_spoken(tmp_path: Path) -> None:
    """A voice channel, or `voice` with the step."""
    places = {"tea": {"server": "Tea House"}, "stage": {"kind": "voice", "server": "Tea House"}}
    played = rehearse(tmp_path, hello("Ember, hello", voice=True), {**hello("Ember?"), "in": "stage"}, places=places)

    assert [step.note for step in played.steps] == ["considering", "considering"]
    assert [len(step.replies) for step in played.steps] == [1, 1]


def test_slash_commands_are_answered_as_who_asks_may(tmp_path: Path) -> None:
    """The owner may all of them."""
    command = {"slash": "/channel-full-rp", "in": "tea"}
    played = rehearse(
        tmp_path,
        {**command, "by": "bo"},
        {"expect": {"answer_has": "right to manage", "answer_lacks": "full_rp"}},
        command,
        {"expect": {"answer_has": "full_rp"}},
    )

    assert played.failed == []


def test_files_are_changed_as_by_the_owners_hand(tmp_path: Path) -> None:
    """Written, added to and removed; the next prompt knows."""
    path = "memory/people/discord-101.md"
    played = rehearse(
        tmp_path,
        {"file": path, "write": "# Ada\n\nAda likes rain.\n"},
        {"file": path, "append": "Ada is allergic to nuts.\n"},
        hello(),
        {"expect": {"prompt_has": ["likes rain", "allergic"], "file_has": {path: "nuts"}}},
        {"file": path, "remove": True},
        hello(),
        {"expect": {"prompt_lacks": "allergic", "file_lacks": {path: "nuts"}}},
    )

    assert played.failed == []


def test_memory_is_written_up_now_or_by_itself_after_a_quiet_half_hour(tmp_path: Path) -> None:
    """On the simulated clock."""
    models = {**scripted(), "memory_writer": "echo"}
    now = rehearse(
        tmp_path,
        hello("Ember, I planted tomatoes."),
        {"write_up": True},
        {"expect": {"calls": {"memory_writer": 1}, "file_has": {"memory/people/discord-101.md": "planted tomatoes"}}},
        models=models,
    )
    later = rehearse(
        tmp_path / "later",
        hello(),
        {"after": "29m", "expect": {"calls": {"memory_writer": 0}}},
        {"after": "2m", "expect": {"calls": {"memory_writer": 1}}},
        models=models,
    )

    assert now.failed == []
    assert later.failed == []
    assert "sessions/2026-01-01-afternoon.md" in now.steps[1].note


def test_a_lull_is_waited_for_on_the_simulated_clock(tmp_path: Path) -> None:
    """A question nobody answered is answered once all fell quiet, not before."""
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "bo", "say": "Does anybody know when it opens?"},
        {"after": "19s", "expect": {"no_reply": True}},
        {"after": "2s", "expect": {"reply_in": "tea"}},
        settings="text_lull_timeout = 20.0\n",
    )

    assert played.failed == []


def test_a_restart_keeps_what_is_on_disk_and_where_scripts_stand(tmp_path: Path) -> None:
    """And the clock, which goes on."""
    played = rehearse(
        tmp_path,
        hello("Ember, remember the blue door."),
        {"restart": True},
        hello("Ember?"),
        {"expect": {"said_has": "Two.", "prompt_has": "blue door"}},
        models={**scripted("One.", "Two."), "memory_writer": "echo"},
    )

    assert played.failed == []


def test_a_kill_loses_what_only_waited_in_memory(tmp_path: Path) -> None:
    """What was heard is there; a reply under way and a lull waited for are not, and nobody writes memory up."""
    played = rehearse(
        tmp_path,
        hello("Ember, remember the blue door."),
        {"after": "1s", "in": "tea", "by": "bo", "say": "Does anybody know when it opens?"},
        {"after": "1s", "restart": "kill"},
        {"expect": {"no_reply": True, "calls": {"main_prose": 1, "memory_writer": 0}}},
        hello("Ember?"),
        {"expect": {"said_has": "Three.", "prompt_has": ["blue door", "when it opens"]}},
        models={**scripted({"delay_s": 15, "say": "One."}, "Three."), "memory_writer": "echo"},
    )

    assert played.failed == []


def test_memory_is_looked_over_now(tmp_path: Path) -> None:
    """What a careful owner would notice is told."""
    played = rehearse(
        tmp_path, {"tidy": True}, familiar={"memory": {"topics/tea.md": "# Tea\n\nSee [cups](cups.md).\n"}}
    )

    assert "broken link" in played.steps[0].note


def test_a_search_finds_what_its_place_may_hear(tmp_path: Path) -> None:
    """What was said between two is found there and not among all."""
    ask = {"query": "the word for the pantry", "words": ["swordfish"]}
    played = rehearse(
        tmp_path,
        {"in": "dm-ada", "by": "ada", "say": "The word for the pantry is swordfish."},
        {"expect": {"search_finds": {**ask, "in": "dm-ada"}, "search_lacks": {**ask, "in": "tea"}}},
        {"expect": {"search_finds": {**ask, "in": "tea"}}},
    )

    assert played.failed == ["search_finds: 'swordfish' is not found in tea"]


def test_who_can_read_a_place_changes_with_the_steps(tmp_path: Path) -> None:
    """Joining, leaving, hiding and opening are seen by whoever looks around."""
    rehearsal = parse_rehearsal({**TEA_HOUSE, "steps": [hello()]})
    world = RehearsalWorld(rehearsal, CallLog(), SystemClock())
    assert world.servers_of("bo") == {2001}
    assert (world.list_hidden_places("ada"), world.list_hidden_places("bo")) == ({3002}, set())

    world.change_members("staff", "bo", joins=True)
    world.change_members("tea", "ada", joins=False)
    assert world.list_hidden_places("bo") == {3002}
    assert world.servers_of("ada") == set()

    world.change_visibility("tea", hides=True, members=["bo"])
    world.change_visibility("staff", hides=False)
    assert (world.is_hidden("tea"), world.members_of("tea")) == (True, ["bo"])
    assert world.members_of("staff") == ["owner", "bo"], "who left the server reads nothing of it"
    world.change_visibility("staff", hides=True)
    assert (world.is_hidden("staff"), world.members_of("staff")) == (True, ["owner", "bo"]), "who reads it now stays"


def test_steps_about_members_and_visibility_are_played(tmp_path: Path) -> None:
    """Talk goes on around them."""
    played = rehearse(
        tmp_path,
        {"join": "bo", "in": "staff"},
        {"leave": "staff", "by": "bo"},
        {"hide": "tea", "members": ["ada"]},
        hello(),
        {"open": "tea"},
        hello(),
        {"expect": {"reply_in": "tea"}},
    )

    assert played.failed == []


def test_places_of_other_platforms_are_met_as_those_are(tmp_path: Path) -> None:
    """Twitch has no servers; at the terminal the owner is answered whatever is said."""
    places = {"stream": {"platform": "twitch", "name": "ada_live"}, "home": {"platform": "terminal"}}
    played = rehearse(
        tmp_path,
        {"in": "stream", "by": "bo", "say": "Ember, hi", "mention": True},
        {"in": "home", "by": "owner", "say": "Anything new?"},
        places=places,
    )

    assert [[reply.place for reply in step.replies] for step in played.steps] == [["stream"], ["home"]]


def test_who_may_use_a_control_goes_by_the_settings_of_the_platform(tmp_path: Path) -> None:
    """Twitch has no such setting: what is said of Discord counts on Discord alone, and is named there alone."""
    places = {"tea": {"kind": "text", "server": "Tea House"}, "stream": {"platform": "twitch", "name": "ada_live"}}
    asked = {"slash": "/undo", "by": "bo"}
    refused = rehearse(tmp_path / "a", {**asked, "in": "tea"}, {**asked, "in": "stream"}, places=places)
    let = rehearse(
        tmp_path / "b",
        {**asked, "in": "tea"},
        {**asked, "in": "stream"},
        places=places,
        settings='[discord]\ncontrols = "everyone"\n',
    )

    on_discord, on_twitch = ([step.answers[0] for step in each.steps] for each in (refused, let))
    assert ["[discord]" in answer for answer in on_discord] == [True, False]
    assert on_twitch[1] == on_discord[1], "it stays refused, in the same words"
    assert on_twitch[0] != on_discord[0]


def test_a_thread_that_is_hidden_is_told_to_nobody_outside_it(tmp_path: Path) -> None:
    """What is said in it from then on stays with those who are in it."""
    thread = {"kind": "thread", "server": "Tea House", "parent": "tea"}
    played = rehearse(
        tmp_path,
        {"hide": "nook", "members": ["ada"]},
        {"in": "nook", "by": "ada", "say": "Ember, the password is SWORDFISH.", "mention": True},
        hello("Ember, what did Ada tell you?", by="bo"),
        {"expect": {"reply_in": "tea", "prompt_lacks": ["SWORDFISH"]}},
        places={**TEA_HOUSE["places"], "nook": thread},
    )

    assert played.failed == []


def test_a_conversation_file_is_heard_in_order_and_its_last_message_answered(tmp_path: Path) -> None:
    """Even where earlier ones call the familiar; what it said before is its own."""
    data = {
        "me": "ember",
        "members": [{"id": "ember", "name": "Ember", "bot": True}],
        "messages": [
            {"author": "ada", "text": "Ember, do you hear me?"},
            {"author": "ember", "text": "Clearly."},
            {"author": "bo", "text": "Nice weather."},
        ],
    }
    rehearsal = replace(parse_rehearsal(data), models={"main_prose": ModelScript()})
    root = make_rehearsal_home(rehearsal, tmp_path / "stage", home=tmp_path / "home")
    seen: list[StepResult] = []
    play_rehearsal(rehearsal, PlaySettings(root=root, home=tmp_path / "home", is_scripted=True), seen.append)

    assert [len(step.replies) for step in seen] == [0, 0, 1]
    prompt = "\n".join(message.content for call in seen[-1].calls for message in call.messages)
    assert "do you hear me" in prompt
    assert "Clearly." in prompt


def test_nobody_waits_for_the_index_but_who_asks_where_no_time_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right after a start a question finds what the running program would; after a pause its worker has caught up."""
    levelled: list[str] = []
    update = Familiar.update_memory_index

    async def noted(familiar: Familiar, limit_s: float) -> bool:
        levelled.append(familiar.clock.now().strftime("%H:%M"))
        return await update(familiar, limit_s)

    monkeypatch.setattr(Familiar, "update_memory_index", noted)
    played = rehearse(
        tmp_path,
        {"at": "2026-03-02T08:00:00+00:00", **hello("Ember, my boat is called the Gull.")},
        {"after": "1s", "restart": True},
        {"after": "1s", **hello("Ember, what is my boat called?")},
        {"after": "1s", "expect": {"reply_in": "tea", "prompt_has": ["called the Gull"]}},
        {"after": "5m", **hello("Ember, and what did I call it?")},
    )

    assert played.failed == []
    assert levelled == ["08:05"]
