"""Stories told as data: people, places, steps and what must be so, played through the whole program."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.rehearsal import rehearse


def test_everyone_who_asks_is_answered_by_a_reply_of_their_own(tmp_path: Path) -> None:
    """Five within two seconds, while it writes: each in turn, and two questions of one person together."""
    asked = [("bo", "snow"), ("bo", "hail"), ("ada", "fog"), ("bo", "ice")]
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "ada", "say": "Ember, tell me of the rain.", "mention": True},
        *(
            {"after": 0.2, "in": "tea", "by": who, "say": f"Ember, and of the {what}?", "mention": True}
            for who, what in asked
        ),
        {"after": "5m", "expect": {"reply_in": "tea"}},
        models={
            "main_prose": {"say": [{"delay_s": 20, "say": "Rain."}, "Snow and hail.", "Fog."], "otherwise": "Ice."}
        },
    )

    assert played.failed == []
    assert [reply.text for step in played.steps for reply in step.replies] == [
        "Rain.",
        "Snow and hail.",
        "Fog.",
        "Ice.",
    ]


def test_it_joins_in_unasked_when_the_side_model_says_so(tmp_path: Path) -> None:
    """After as many messages as its interval, and the decision is one of the calls made for the reply."""
    talk = [{"after": "2s", "in": "tea", "by": ("ada", "bo")[n % 2], "say": f"This is line {n}."} for n in range(12)]
    played = rehearse(
        tmp_path,
        *talk,
        {
            "after": "1s",
            "expect": {"reply_in": "tea", "prompt_has": ["Is this a moment in which Ember joins in unasked?"]},
        },
        settings='interjection = "eager"\n',
        models={"main_prose": {"otherwise": "Me too!"}, "interjection_decision": "echo"},
    )

    assert played.failed == []


def test_memory_is_written_by_as_many_calls_a_day_as_the_settings_allow(tmp_path: Path) -> None:
    """The rest waits for the next day, also when the program is started anew in between."""
    talk = [{"in": "tea", "by": "ada", "say": f"Ember, I own {n} boats.", "mention": True} for n in range(6)]
    played = rehearse(
        tmp_path,
        *talk[:3],
        {"restart": True},
        *talk[3:],
        {"after": "1h", "expect": {"calls": {"main_prose": 6, "memory_writer": 2}}},
        {"after": "1d", "in": "tea", "by": "ada", "say": "Ember, good morning.", "mention": True},
        {"after": "2h", "expect": {"calls": {"main_prose": 1, "memory_writer": 2}}},
        settings="[memory_writer]\nturn_threshold = 2\ncalls_per_day = 2\n",
        models={"main_prose": {"otherwise": "Mm."}, "memory_writer": "echo"},
    )

    assert played.failed == []


def test_who_speaks_of_it_is_not_answered_and_who_speaks_to_it_is(tmp_path: Path) -> None:
    """Where no model is asked whether to speak, in the same channel."""
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "ada", "say": "Ember said yesterday that it would rain."},
        {"after": "1s", "in": "tea", "by": "bo", "say": "one last ember glowed in the ashes"},
        {"after": "1s", "in": "tea", "by": "ada", "say": "I will ask Ember about it tomorrow"},
        {"after": "5m", "in": "tea", "by": "bo", "say": "good night ember"},
        {"after": "5m", "in": "tea", "by": "ada", "say": "was hältst du davon ember"},
        settings='decide_with = "rules"\n',
        models={"main_prose": {"otherwise": "Here."}},
    )

    assert [len(step.replies) for step in played.steps] == [0, 0, 0, 1, 1]


def test_a_question_edited_or_deleted_before_its_answer_is_answered_anew_or_not_at_all(tmp_path: Path) -> None:
    """While the model writes; who asked behind it is answered all the same."""
    played = rehearse(
        tmp_path,
        {"in": "tea", "by": "ada", "say": "Ember, when is tea?", "mention": True},
        {"after": "5s", "edit": "last", "in": "tea", "by": "ada", "say": "Ember, where is tea?"},
        {"after": "1m", "in": "tea", "by": "ada", "say": "Ember, who hid the biscuits?", "mention": True},
        {"after": "1s", "in": "tea", "by": "bo", "say": "Ember, and the jam?", "mention": True},
        {"after": "1s", "delete": "last", "in": "tea", "by": "ada"},
        {"after": "5m", "expect": {"reply_in": "tea", "prompt_has": ["the jam?"], "prompt_lacks": ["the biscuits?"]}},
        models={
            "main_prose": {
                "say": [
                    {"delay_s": 20, "say": "At four."},
                    {"delay_s": 20, "say": "In the garden."},
                    {"delay_s": 20, "say": "Bo did."},
                ],
                "otherwise": "On the shelf.",
            }
        },
    )

    assert played.failed == []
    assert [reply.text for step in played.steps for reply in step.replies] == ["In the garden.", "On the shelf."]
