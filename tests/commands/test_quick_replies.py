"""Quick replies through the program as a process: imported, listed, used, asked and answered."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program

SET = {
    "name": "Evening",
    "qrList": [
        {"label": "Bell", "title": "Rings the bell", "message": "/sys The bell rings. | /trigger"},
        {
            "label": "Order",
            "message": '/buttons labels=["Tea","Ale"] What will it be? | /setvar key=drink | /send {{pipe}}!',
        },
        {"label": "Drink", "message": "/gen [A name for {{getvar::drink}}.] | /sendas name=Guest I call it {{pipe}}"},
        {"label": "Greet", "message": "Good evening, {{char}}."},
        {"label": "Out", "message": "/fetch http://example.org", "executeOnStartup": True},
    ],
}


def test_quick_replies_act_on_the_chat(tmp_path: Path) -> None:
    """What they say stands in the chat under who says it, the model is asked for what they want, a variable stays."""
    answers = [stream_answer(text) for text in ("Good evening to you.", "So late?", "Night Bitter")]
    with model_endpoint(*answers) as server:
        make_home(tmp_path, server)
        (tmp_path / "q.json").write_text(json.dumps(SET), encoding="utf-8")
        told = run_program(tmp_path, "import", "quick-replies", str(tmp_path / "q.json")).stdout
        said = "/qr\n/qr greet\n/qr bell\n/qr Order\n/qr answer 3\n/qr answer ale\n/qr Evening.Drink\n/qr out\n/qr no\n"
        done = run_program(tmp_path, "chat", "--plain", said=said)
        kept = json.loads(run_program(tmp_path, "logs", "--json").stdout)

    assert told.splitlines() == [
        "Imported Evening: 5 quick replies.",
        "Out cannot be run here: line 1: /fetch is not run here.",
        "1 quick reply that SillyTavern runs by itself: here only when you use it.",
    ]
    assert "  Bell  Rings the bell" in done.stdout
    assert "there is no '3' to choose; there are: Tea, Ale" in done.stdout
    assert "/fetch is not run here" in done.stdout
    assert "There is no quick reply called 'no'" in done.stdout
    assert [(row["who"], row["text"]) for row in kept][-6:] == [
        ("Friend", "Good evening, Ember."),
        ("Ember", "Good evening to you."),
        ("Ember", "The bell rings."),
        ("Ember", "So late?"),
        ("Friend", "Ale!"),
        ("Guest", "I call it Night Bitter"),
    ]
    assert server.requests[2].payload["messages"][-1]["content"].endswith("A name for Ale.]")


def test_a_bad_set_is_named(tmp_path: Path) -> None:
    """One sentence, and nothing is kept."""
    make_home(tmp_path)
    (tmp_path / "q.json").write_text("[]", encoding="utf-8")
    done = run_program(tmp_path, "import", "quick-replies", str(tmp_path / "q.json"))

    assert done.returncode == 1
    assert "holds no quick replies; choose a set of SillyTavern's" in one_sentence(done)
