"""Tables in windows of 110, 80 and 40 columns: the real program on a real terminal; a pipe gets them as ever."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.store import MemoryStore
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.trace import StageSpan
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program
from tests.fakes.traces import a_trace

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are Unix's", allow_module_level=True)

from tests.fakes.terminal import TerminalSession

BLOCKS = {
    110: """\
place  message  source                 tag          layer           tokens  fate
1      [0]      preamble               PREAMBLE     reserved            24  kept
2      [0]      channel_notes:default  RULES        core                20  kept
3      [0]      mode_instructions_shipped:text_conversation_rp
                                       AUTHOR_NOTE  author_note         37  kept
4      [1]      history:recent         DIALOGUE     recent_history       5  kept
–      –        participants:now       NOW          scene               19  cut: layer scene has a budget of 0
                                                                            here
""",
    80: """\
preamble
    place 1, message [0], tag PREAMBLE, layer reserved, tokens 24, fate kept
channel_notes:default
    place 2, message [0], tag RULES, layer core, tokens 20, fate kept
mode_instructions_shipped:text_conversation_rp
    place 3, message [0], tag AUTHOR_NOTE, layer author_note, tokens 37,
    fate kept
history:recent
    place 4, message [1], tag DIALOGUE, layer recent_history, tokens 5,
    fate kept
participants:now
    place –, message –, tag NOW, layer scene, tokens 19,
    fate cut: layer scene has a budget of 0 here
""",
    40: """\
preamble
    place 1, message [0], tag PREAMBLE,
    layer reserved, tokens 24, fate kept
channel_notes:default
    place 2, message [0], tag RULES,
    layer core, tokens 20, fate kept
mode_instructions_shipped:
text_conversation_rp
    place 3, message [0],
    tag AUTHOR_NOTE, layer author_note,
    tokens 37, fate kept
history:recent
    place 4, message [1], tag DIALOGUE,
    layer recent_history, tokens 5,
    fate kept
participants:now
    place –, message –, tag NOW,
    layer scene, tokens 19,
    fate cut: layer scene has a budget
    of 0 here
""",
}
PROVIDERS = {
    110: """\
provider           status     took  trouble
character          ok       1.0 ms
short_term_memory  ok       2.0 ms
content_search     timeout  2.00 s  gave up after it had been waited for as long as the turn had time
""",
    80: """\
provider           status     took  trouble
character          ok       1.0 ms
short_term_memory  ok       2.0 ms
content_search     timeout  2.00 s  gave up after it had been waited for as long
                                    as the turn had time
""",
    40: """\
character
    status ok, took 1.0 ms
short_term_memory
    status ok, took 2.0 ms
content_search
    status timeout, took 2.00 s,
    trouble gave up after it had been
    waited for as long as the turn had
    time
""",
}
METRICS = {
    110: """\
Providers
  provider           count  ok  error  timeout  asleep  success     p50     p95
  character              1   1      0        0       0     100%  1.0 ms  1.0 ms
  content_search         1   0      0        1       0       0%  2.00 s  2.00 s
  short_term_memory      1   1      0        0       0     100%  2.0 ms  2.0 ms
""",
    40: """\
Providers
  character
      count 1, ok 1, error 0, timeout 0,
      asleep 0, success 100%,
      p50 1.0 ms, p95 1.0 ms
  content_search
      count 1, ok 0, error 0, timeout 1,
      asleep 0, success 0%, p50 2.00 s,
      p95 2.00 s
  short_term_memory
      count 1, ok 1, error 0, timeout 0,
      asleep 0, success 100%,
      p50 2.0 ms, p95 2.0 ms
""",
}
METRICS[80] = METRICS[110]
CHATS = {
    40: """\
  main
    2 turns, WHEN
* a rather long name of a chat
    3 turns, WHEN""",
    80: """\
  main                          2 turns  WHEN
* a rather long name of a chat  3 turns  WHEN""",
}
FAMILIARS = {
    80: """\
* ember       Ember       embedded   1 turn
  rather-odd  Rather-odd  ?         0 turns
  ! rather-odd: """,
    40: """\
* ember
    Ember, embedded, 1 turn
  rather-odd
    Rather-odd, ?, 0 turns
  ! rather-odd: """,
}


LOGS = {
    80: """\
WHEN  main  Sam: What do we need for the long walk along the river
  to the old mill?
WHEN  main  Ember: Two things:
  - tea, as always, in the large flask that keeps it hot until the evening
  - a map""",
    40: """\
WHEN  main  Sam: What do we
  need for the long walk along the river
  to the old mill?
WHEN  main  Ember: Two
  things:
  - tea, as always, in the large flask
    that keeps it hot until the evening
  - a map""",
}
CHANGES = {
    80: """\
v1    WHENZ      +1 −0 lines  memory_writer  run
      20250601-120000-abcdef  turns 1–2  people/somebody-with-a-long-name.md""",
    40: """\
v1    WHENZ      +1 −0 lines
      memory_writer  run
      20250601-120000-abcdef  turns 1–2
  people/somebody-with-a-long-name.md""",
}


def block(source: str, tag: str, layer: str, tokens: int, message: int | None) -> dict[str, Any]:
    return {
        "source": source,
        "tag": tag,
        "layer": layer,
        "tokens": tokens,
        "message": message,
        "kept": message is not None,
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which one turn was made: a block was cut, a provider was late."""
    root = make_home(tmp_path)
    facts = {
        "tokens_by_block": [
            block("preamble", "PREAMBLE", "reserved", 24, 0),
            block("channel_notes:default", "RULES", "core", 20, 0),
            block("mode_instructions_shipped:text_conversation_rp", "AUTHOR_NOTE", "author_note", 37, 0),
            block("history:recent", "DIALOGUE", "recent_history", 5, 1),
            block("participants:now", "NOW", "scene", 19, None),
        ],
        "dropped": [
            {
                "layer": "scene",
                "source": "participants:now",
                "reason": "dropped",
                "tokens_dropped": 19,
                "full": "no budget",
            }
        ],
        "provider_outcomes": [
            {"id": "character", "duration_s": 0.001, "status": "ok"},
            {"id": "short_term_memory", "duration_s": 0.002, "status": "ok"},
            {
                "id": "content_search",
                "duration_s": 2.0,
                "status": "timeout",
                "error": "gave up after it had been waited for as long as the turn had time",
            },
        ],
    }
    trace = a_trace(familiar_id="ember", stages=(StageSpan("assemble", 0.0, 0.02, facts),))
    SQLiteCollector(root / "metrics.db", flush_interval=1).record(trace)
    return tmp_path


def shown(home: Path, *words: str, columns: int) -> str:
    """What a window of *columns* shows of a verb; nothing in it is wider."""
    with TerminalSession(home, *words, columns=columns, rows=200) as session:
        assert session.wait_end() == 0
    assert max(map(len, session.text.splitlines())) <= columns
    return session.screen.everything


@pytest.mark.parametrize("columns", [110, 80, 40])
def test_inspect_shows_its_tables_as_wide_as_the_window(home: Path, columns: int) -> None:
    """A long last column goes on below itself; where the window is too narrow each row stands below its name."""
    screen = shown(home, "inspect", columns=columns)
    assert BLOCKS[columns] in screen
    assert PROVIDERS[columns] in screen


def test_inspect_is_markdown_in_a_pipe(home: Path) -> None:
    """For files and other programs, as it ever was."""
    page = run_program(home, "inspect").stdout
    assert "| 1     | [0]     | preamble                                 | PREAMBLE    |" in page
    assert (
        "| –     | –       | participants:now                         | NOW         | scene          | 19     |" in page
    )


@pytest.mark.parametrize("columns", [110, 80, 40])
def test_metrics_show_their_tables_as_wide_as_the_window(home: Path, columns: int) -> None:
    """In columns, or each row below its name; in a pipe always in columns."""
    assert METRICS[columns] in shown(home, "metrics", columns=columns)
    if columns == 40:
        assert METRICS[110] in run_program(home, "metrics").stdout


def test_chats_and_their_contexts_fit_a_narrow_window(tmp_path: Path) -> None:
    """The list of chats, and what the last prompt was made of, by /context and by /context full."""
    with model_endpoint(*[stream_answer("Hello.")] * 2) as server:
        make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", "--as", "Sam", said="hi\n")
        words = ("chat", "--as", "Sam", "--new", "--chat", "a rather long name of a chat")
        with TerminalSession(tmp_path, *words, columns=40, rows=400) as session:
            session.wait_for_screen("Sam:")
            session.enter("hi")
            session.wait_for_screen("Ember: Hello.")
            session.enter("/context")
            session.wait_for_screen("`familiar inspect`")
            session.enter("/context full")
            session.wait_for_screen("## Summary")
            session.enter("/chat")
            session.wait_for_screen("\n* a rather long name of a chat\n    20")
            assert session.leave() == 0
    outline, _, page = session.screen.everything.partition("## Blocks")
    assert re.search(r"\n  preamble\n      message \[0\], tokens \d+\n", outline), outline
    assert re.search(r"\n  mode_instructions_shipped:\n  text_conversation_rp\n      message \[0\], tokens", outline)
    assert re.search(r"\npreamble\n    place 1, message \[0\], tag PREAMBLE,\n    layer reserved, tokens", page), page
    for columns, table in CHATS.items():
        screen = shown(tmp_path, "chat", "--list", columns=columns)
        assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", screen) == table


@pytest.mark.parametrize("columns", [80, 40])
def test_familiars_are_listed_as_wide_as_the_window(tmp_path: Path, columns: int) -> None:
    """One turn is one turn, and what is wrong with one stays in the window."""
    store = HistoryStore(make_home(tmp_path) / "history.db")
    store.append_turn(familiar_id="ember", channel_id=1, role="user", content="hi")
    store.close()
    run_program(tmp_path, "init", "rather-odd")
    (tmp_path / "familiars" / "rather-odd" / "character.toml").write_text("nonsense = 1", encoding="utf-8")
    with TerminalSession(tmp_path, "list", columns=columns, rows=200) as session:
        assert session.wait_end() == 0
    assert FAMILIARS[columns] in session.screen.everything


@pytest.mark.parametrize("columns", [80, 40])
def test_what_was_said_and_changed_goes_on_below_its_own_beginning(tmp_path: Path, columns: int) -> None:
    """Where one line of the log ends and the next begins is seen at once."""
    root = make_home(tmp_path)
    sam = Author("terminal", "sam", None, "Sam")
    with closing(HistoryStore(root / "history.db")) as store:
        for role, author, text in (
            ("user", sam, "What do we need for the long walk along the river to the old mill?"),
            (
                "assistant",
                None,
                "Two things:\n- tea, as always, in the large flask that keeps it hot until the evening\n- a map",
            ),
        ):
            store.append_turn(familiar_id="ember", channel_id=1, role=role, author=author, content=text)
    memory = MemoryStore(root / "memory", audit_dir=root / "audit")
    memory.write_file(
        "people/somebody-with-a-long-name.md",
        "They walk.\n",
        source="memory_writer",
        run_id="20250601-120000-abcdef",
        turn_range=(1, 2),
    )
    assert memory.audit is not None
    memory.audit.close()

    def seen(*words: str) -> str:
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", shown(tmp_path, *words, columns=columns))

    assert seen("logs") == LOGS[columns]
    assert CHANGES[columns] in seen("memory", "log")
