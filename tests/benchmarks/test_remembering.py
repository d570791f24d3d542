"""The benchmark of remembering: its grading, its files, and a whole run on a model that only knows its prompt."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.remembering import __main__ as remembering
from benchmarks.remembering.facts import load_material
from benchmarks.remembering.model_server import Recorder, Upstream
from benchmarks.remembering.script import TAIL, order_lines, plain_transcript
from benchmarks.remembering.weeks import PEOPLE, READERS, Weeks, read_weeks
from benchmarks.remembering.weeks.trial import PlainPrompts, judge, play
from familiar_connect.memory.index.hashing import HashingModel


class _Reader(BaseHTTPRequestHandler):
    """An endpoint that knows what its prompt holds, and nothing else."""

    def do_GET(self) -> None:
        self._send({"data": [{"id": "endpoint", "meta": {"n_ctx_train": 8192}}]})

    def do_POST(self) -> None:
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        shown = "\n".join(str(each["content"]) for each in payload.get("messages", ()))
        said = "The Gull, you said." if "called the Gull" in shown else "I do not know."
        usage = {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 90}}
        self._send({"choices": [{"message": {"role": "assistant", "content": said}}], "usage": usage})

    def _send(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Reader)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_our_own_facts_are_forty_and_older_than_the_last_twenty_messages() -> None:
    """Also with corrections, and with two people on one topic."""
    material = load_material()
    lines = order_lines(material)

    assert len(material.facts) == 40
    assert not any(line.is_fact for line in lines[-TAIL:])
    assert TAIL >= remembering.PEER_WINDOW
    assert sum(len(fact.told) > 1 for fact in material.facts) >= 5
    assert {line.text for line in lines} >= {text for fact in material.facts for text in fact.told}
    assert len(plain_transcript(material)) > len(lines)


def test_a_correction_is_told_after_what_it_corrects() -> None:
    """In every fact that has one."""
    material = load_material()
    told = [line.text for line in order_lines(material)]

    for fact in material.facts:
        assert [told.index(text) for text in fact.told] == sorted(told.index(text) for text in fact.told)


@pytest.mark.parametrize(
    ("answer", "is_right"), [("He is BISCUIT.", True), ("Biscuit or Pepper?", False), ("I do not know.", False)]
)
def test_answers_are_graded_by_their_patterns(answer: str, is_right: bool) -> None:
    """One that must be there, none that must not."""
    fact = next(each for each in load_material().facts if "cat's name" in each.asked)

    assert fact.is_answered(answer) is is_right


@pytest.mark.parametrize("form", ["list", "object", "lines"])
def test_facts_of_somebody_else_are_read_in_any_plain_form(tmp_path: Path, form: str) -> None:
    """A list, an object with `facts`, or one fact a line; single patterns will do."""
    row = {"told": "My boat is called Gull.", "asked": "What is my boat called?", "accept": "gull", "reject": []}
    path = tmp_path / "facts.json"
    path.write_text({"list": json.dumps([row]), "object": json.dumps({"facts": [row]}), "lines": json.dumps(row)}[form])

    (fact,) = load_material(path).facts

    assert fact.is_answered("It is the Gull.")


def test_a_run_goes_through_the_program_and_every_peer(
    endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The familiar's prompt holds the fact, that of the last 20 messages does not; asked again, all is known."""
    facts = tmp_path / "facts.json"
    row = {"by": "sam", "told": "My boat is called the Gull.", "asked": "What is my boat called?", "accept": "gull"}
    facts.write_text(json.dumps([row]))
    arguments = ["--model", endpoint, "--facts", str(facts), "--json", "--state", str(tmp_path / "state.jsonl")]

    remembering.main(arguments)
    told = json.loads(capsys.readouterr().out)
    right = {each["name"]: each["right"] for each in told["results"]}

    assert right == {"familiar": 1, "last-20": 0, "all-turns": 1, "persona": 0}

    remembering.main(arguments)
    again = json.loads(capsys.readouterr().out)
    assert [each["right"] for each in again["results"]] == [1, 0, 1, 0]


def test_the_weeks_are_thirty_days_of_five_people_in_four_places_with_a_hundred_questions() -> None:
    """Facts are corrected, contradicted and deleted; a quarter of the questions and more come from who was away."""
    weeks = read_weeks()
    kinds = [(each.may_know, each.is_forgotten) for each in weeks.questions]

    assert {event.day for event in weeks.events} == set(range(1, 31))
    assert {event.who for event in weeks.told} == set(PEOPLE)
    assert {event.place for event in weeks.told} == set(READERS)
    assert len(kinds) == 100
    assert kinds.count((True, False)) >= 60
    assert kinds.count((False, False)) >= 25
    assert kinds.count((False, True)) >= 4
    assert sum(event.older is not None for event in weeks.told) >= 7


def test_each_fact_of_the_weeks_is_told_by_one_line_alone_and_asked_of_those_it_is_for() -> None:
    """Its evidence stands in no other line and in no question; who may know can read the place it was told in."""
    weeks = read_weeks()
    questions = "\n".join(each.words for each in weeks.questions)
    for name, fact in weeks.facts.items():
        telling = [line.fact for line in weeks.told if fact.stands_in(line.words)]
        assert [each for each in telling if weeks.facts[each or ""].older != name] == [name], name
        assert not fact.stands_in(questions), name
    for asked in weeks.questions:
        there = READERS[weeks.facts[asked.fact].place]
        everybody_here_was_there = set(READERS[asked.place]) <= set(there)
        assert (everybody_here_was_there and asked.who in there) == (asked.may_know or asked.is_forgotten), asked


def test_over_some_days_who_may_know_is_told_and_who_was_away_is_not() -> None:
    """A bounded run of `python -m benchmarks.remembering --weeks`, through `familiar rehearse`, without a model."""
    weeks = read_weeks().shortened(days={1, 2, 4, 15}, facts={"ben-sister", "ada-city-2", "ada-baby-2", "present"})
    found = play(weeks)
    searched = PlainPrompts(weeks, HashingModel()).ask("BM25")

    assert [each.question.words for each in found if each.is_found is not each.question.may_know] == []
    assert sum(not each.question.may_know for each in found) >= 5
    assert any(each.is_found and not each.question.may_know for each in searched)


def test_weeks_are_answered_by_a_model_that_reads_what_the_prompt_holds(endpoint: str, tmp_path: Path) -> None:
    """Graded by the answer; a value that was corrected counts as wrong."""
    weeks = read_weeks()
    [question] = [each for each in weeks.questions if each.fact == "ada-city-2" and each.who == "ada"]

    assert judge(weeks, question, "", "You live in Steyr.").is_answered
    assert not judge(weeks, question, "", "In Linz, or in Steyr?").is_answered
    assert not judge(weeks, question, "", "I do not know.").is_answered
    recorder = Recorder(Upstream(endpoint, ""), "endpoint", tmp_path / "state")
    [outcome] = PlainPrompts(Weeks(events=weeks.events, questions=(question,)), HashingModel()).ask("BM25", recorder)
    assert outcome.answer == "I do not know."
