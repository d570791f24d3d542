"""The bounded form of `python -m benchmarks.first_question`: real processes, started cold, beside busy ones."""

from __future__ import annotations

from pathlib import Path

from benchmarks.first_question.trial import TRIES, Endpoint, ask_anew, busy_processes, load_facts, make_told_home

ASKED = 2


def test_most_questions_share_no_content_word_with_their_fact() -> None:
    """Twenty at least of forty, so that words alone do not find them; and sixty lines are told."""
    facts, lines = load_facts()

    assert len(facts) == 40
    assert sum(not fact.shares_words for fact in facts) >= 20
    assert len(lines) == 60


def test_the_first_question_of_a_new_process_finds_what_was_told(tmp_path: Path) -> None:
    """By meaning alone, beside processes that never rest: each question in a process of its own."""
    facts, lines = load_facts()
    endpoint = Endpoint()
    with endpoint.serve():
        make_told_home(tmp_path / "told", endpoint, lines[:24])
        chosen = [fact for fact in facts if fact.told in lines[:24] and not fact.shares_words][:ASKED]
        with busy_processes(2):
            answers = [ask_anew(tmp_path / "told", fact, endpoint, tmp_path, tries=TRIES) for fact in chosen]

    assert len(answers) == ASKED
    assert [(each.fact.asked, each.status) for each in answers if not each.is_found] == []
