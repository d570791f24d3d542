"""The command line: verbs, help, exit codes, output a script can read."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from familiar_connect import __version__
from familiar_connect.cli import VERBS, main
from familiar_connect.config.load import write_default_model
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.history.store import HistoryStore
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.scripted_familiar import scripted_familiar
from tests.fakes.terminal import TerminalSession

Shown = pytest.CaptureFixture[str]


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """`familiar WORDS` in this process."""
    for name in ("FAMILIAR_HOME", "FAMILIAR_ID", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["familiar", *words])
    return main()


def test_without_a_verb_it_shows_help_and_ends_well(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    """Every verb is in it."""
    assert call(monkeypatch) == 0

    shown = capsys.readouterr().out
    assert all(verb in shown for verb in VERBS)


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_explains_itself(monkeypatch: pytest.MonkeyPatch, capsys: Shown, verb: str) -> None:
    """With --help, exit code 0."""
    assert call(monkeypatch, verb, "--help") == 0
    assert "Usage: familiar" in capsys.readouterr().out


def test_it_says_its_version(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    """The package's own."""
    assert call(monkeypatch, "--version") == 0
    assert __version__ in capsys.readouterr().out


def test_an_unknown_verb_names_the_nearest(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    """And fails."""
    assert call(monkeypatch, "chta") != 0

    said = capsys.readouterr().err
    assert "chta" in said
    assert "chat`?" in said


def test_a_verb_like_nothing_points_to_help(monkeypatch: pytest.MonkeyPatch, capsys: Shown) -> None:
    """No far-fetched guess."""
    assert call(monkeypatch, "xyzzyx") != 0
    assert "--help" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("pull", "llama3"), "`familiar --home {home} model get NAME` fetches a model."),
        (("rm", "ember"), "`familiar --home {home} list` says where"),
        (
            ("restore", "notes.md", "2"),
            "An earlier version of a memory file: `familiar --home {home} memory restore FILE VERSION`",
        ),
        (("version",), "`familiar --version` shows it."),
        (("hello there, how are you",), "`familiar --home {home} ask 'hello there, how are you'`"),
        (("hello",), "`familiar --home {home} --help` lists the verbs."),
        (("hello", "there"), "To say that to a familiar: `familiar --home {home} ask 'hello there'`"),
        (("-m", "gpt-4", "hello"), 'ask -m MODEL "…"` asks through another model'),
        (("run", "llama3.2:3b"), "`familiar --home {home} chat -m llama3.2:3b` talks through a model"),
        (("chat", "list"), "`familiar --home {home} chat --list` lists the chats."),
        (("model", "zzz"), "there is no verb 'zzz'. `familiar --home {home} model --help` lists the verbs."),
        (("model", "pull", "llama3"), "there is no verb 'pull'. `familiar --home {home} model get NAME` fetches a"),
        (("model", "download", "llama3"), "`familiar --home {home} model get NAME` fetches a model."),
        (("model", "ls"), "there is no verb 'ls'. Did you mean `familiar --home {home} model list`?"),
        (("ignore", "rm", "Ben"), "there is no verb 'rm'. Did you mean `familiar --home {home} ignore remove`?"),
        (("preset", "rm", "x"), "Did you mean `familiar --home {home} preset delete`?"),
        (("config", "list"), "there is no verb 'list'. `familiar --home {home} config --help` lists the verbs."),
        (("keys", "get", "x"), "there is no verb 'get'. A key is never shown; `familiar --home {home} keys` lists"),
        (("logs", "list"), "`familiar --home {home} logs` shows the last lines;"),
        (("logs", "path"), "`familiar --home {home} export chat` writes a chat out."),
        (("ask", "-s", "A pirate.", "hi"), "`familiar --home {home} memory show self/description.md` shows it."),
        (("ask", "-o", "temperature", "1", "hi"), "`familiar --home {home} config show` lists its settings."),
        (("ask", "--no-stream", "hi"), "`familiar --home {home} ask --json` prints the reply at once"),
        (("prompt", "hello you"), "to say that to a familiar: `familiar --home {home} ask 'hello you'`"),
        (
            ("import", "my/Wren.png"),
            "`familiar --home {home} init --from-card my/Wren.png` makes a familiar from a card.",
        ),
        (("import", "a b.json"), "`familiar --home {home} import preset 'a b.json'` a preset."),
        (("import", "old.jsonl"), "`familiar --home {home} import chat old.jsonl` imports a chat."),
        (
            ("init", "my/Wren.png"),
            "`familiar --home {home} init --from-card my/Wren.png` makes a familiar from a card.",
        ),
        (("keys", "path"), "`familiar --home {home} doctor` says where the home is"),
        (("chat", "ember"), "`familiar --home {home} chat --familiar ember`"),
        (("run", "ember"), "`familiar --home {home} run --familiar ember`"),
        (("chat", "good", "evening"), "`familiar --home {home} ask 'good evening'` says them and prints the reply"),
        (("import", "card", "x.png"), "`familiar --home {home} init --from-card FILE` makes a familiar from a card."),
    ],
)
def test_habits_of_other_programs_are_understood(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path, typed: tuple[str, ...], told: str
) -> None:
    """Whoever types what another program calls it is told what it is here, as they started it; nothing is done."""
    make_home(tmp_path)

    for name in ("familiar", "python3 run.py"):
        monkeypatch.setenv("FAMILIAR_COMMAND", name)
        assert call(monkeypatch, "--home", str(tmp_path), *typed) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert told.format(home=tmp_path).replace("familiar --home", f"{name} --home") in said


def test_a_slip_behind_a_verb_is_one_sentence(tmp_path: Path) -> None:
    """The words of a wrong verb, with what can be pasted; nothing was done."""
    done = run_program(tmp_path, "model", "ls")
    assert (done.returncode, one_sentence(done)) == (
        2,
        "Error: there is no verb 'ls'. Did you mean `familiar model list`?",
    )


@pytest.mark.parametrize(
    "verb", ["import", "export", "model", "ignore", "config", "discord", "memory", "preset", "regex", "keys", "trust"]
)
def test_a_verb_that_wants_another_word_shows_what_there_is_and_ends_well(tmp_path: Path, verb: str) -> None:
    """Help where nothing was asked, as without a verb; `keys` and `trust` show what they keep."""
    done = run_program(tmp_path, verb)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage:") == (verb not in ("keys", "trust"))
    assert done.stdout.strip()


def test_a_mistake_is_broken_at_words(tmp_path: Path) -> None:
    """In a narrow window too."""
    with TerminalSession(tmp_path, "completion", "powershell", columns=40) as session:
        assert session.wait_end() == 2
        session.wait_for_screen("Try `familiar completion -h` for help.")
        session.wait_for_screen("one of 'bash', 'zsh', 'fish'.")


def test_as_a_module_it_is_the_same_program(tmp_path: Path) -> None:
    """`python -m familiar_connect`."""
    done = run_program(tmp_path, "--version")

    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"familiar, version {__version__}")


def test_init_makes_a_familiar_and_says_what_to_type_next(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """Its own name on its files; an existing one is never touched."""
    home = ["--home", str(tmp_path)]
    assert call(monkeypatch, *home, "init", "mira", "--as", "Sam") == 0

    root = tmp_path / "familiars" / "mira"
    assert f"familiar --home {tmp_path} chat --familiar mira" in capsys.readouterr().out
    assert (root / "memory" / "self" / "name.md").read_text(encoding="utf-8") == "Mira\n"
    assert 'user_name = "Sam"' in (root / "character.toml").read_text(encoding="utf-8")
    assert call(monkeypatch, *home, "init", "mira") == 1
    assert "exists already" in capsys.readouterr().err
    assert call(monkeypatch, *home, "init", "../evil") == 2
    assert "a-z, A-Z, 0-9" in capsys.readouterr().err
    assert call(monkeypatch, *home, "init", "Frau Müller") == 2
    assert ' init frau-mueller --name "Frau Müller"' in " ".join(capsys.readouterr().err.split())
    assert call(monkeypatch, *home, "init", "日本") == 2
    assert ' init familiar --name "日本"' in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["familiars"]


def test_a_name_told_to_one_familiar_is_known_to_the_next(tmp_path: Path) -> None:
    """Told in a chat, changed there, given to another: each keeps what it was told, and a new one knows the first."""
    with model_endpoint(*(stream_answer("Hello.") for _ in range(4))) as server:
        make_home(tmp_path, server)
        run_program(tmp_path, "chat", "--plain", said="I'm Sma.\n")
        run_program(tmp_path, "chat", "--plain", said="/name Sam\n")
        run_program(tmp_path, "init", "mira", "--as", "Captain")
        run_program(tmp_path, "init", "wren")
    told = {
        each: run_program(tmp_path, "chat", "--familiar", each, "--plain", said="/name\n").stdout
        for each in ("ember", "mira", "wren")
    }

    assert told["ember"] == told["wren"] == "I call you Sam. /name NAME changes it.\n"
    assert told["mira"] == "I call you Captain. /name NAME changes it.\n"


def test_list_tells_who_lives_here(monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path) -> None:
    """Name, model, turns, and what is wrong with one does not hide the others."""
    home = ["--home", str(tmp_path)]
    assert call(monkeypatch, *home, "list") == 0
    assert f"familiar --home {tmp_path} init" in capsys.readouterr().out
    root = make_home(tmp_path)
    store = HistoryStore(root / "history.db")
    store.append_turn(familiar_id="ember", channel_id=1, role="user", content="hi")
    store.close()
    call(monkeypatch, *home, "init", "broken")
    (tmp_path / "familiars" / "broken" / "character.toml").write_text("nonsense = 1", encoding="utf-8")
    capsys.readouterr()

    assert call(monkeypatch, *home, "list", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["home"] == str(tmp_path)
    rows = {row["id"]: row for row in told["familiars"]}
    assert (rows["ember"]["name"], rows["ember"]["model"], rows["ember"]["turns"]) == ("Ember", "embedded", 1)
    assert "nonsense" in rows["broken"]["problem"]
    assert call(monkeypatch, *home, "list") == 0
    assert "Ember" in capsys.readouterr().out


def test_config_show_tells_where_each_setting_comes_from(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """Default, profile or the familiar's own file."""
    root = make_home(tmp_path)
    write_default_model(root / "character.toml", model="some/model")
    home = ["--home", str(tmp_path)]

    assert call(monkeypatch, *home, "config", "show", "--json") == 0
    settings = {each["key"]: each for each in json.loads(capsys.readouterr().out)}
    assert settings["llm.main_prose.model"]["value"] == "some/model"
    assert settings["llm.main_prose.model"]["source"] == "familiar [llm.default]"
    assert settings["user_name"]["source"] == "default"
    assert call(monkeypatch, *home, "config", "show", "--changed") == 0
    changed = capsys.readouterr().out
    assert "some/model" in changed
    assert "(default)" not in changed


def test_config_show_tells_the_limits_of_time_in_force(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """What a slot or a channel leaves open is shown as what it comes to, with where that comes from."""
    root = make_home(tmp_path)
    settings_file, home = root / "character.toml", ["--home", str(tmp_path)]
    write_default_model(settings_file, model="m", base_url="http://127.0.0.1:8080/v1")
    text = settings_file.read_text(encoding="utf-8")
    settings_file.write_text(text.replace("[voice]\n", "[voice]\ndeadline_s = 6\n", 1), encoding="utf-8")
    (root / "channels").mkdir()
    (root / "channels" / "5.toml").write_text('mode = "full_rp"\n[text]\ndeadline_s = 45\n', encoding="utf-8")

    def shown(*words: str) -> dict[str, tuple[object, str]]:
        assert call(monkeypatch, *home, "config", "show", "--json", *words) == 0
        return {each["key"]: (each["value"], each["source"]) for each in json.loads(capsys.readouterr().out)}

    familiar, channel, untouched = shown(), shown("--channel", "5"), shown("--channel", "1")
    assert familiar["llm.main_prose.first_token_s"] == (120.0, "default")
    assert familiar["llm.main_prose.reply_timeout_s"] == (600.0, "default")
    assert (familiar["deadline_s"], familiar["voice.deadline_s"]) == ((24.0, "default"), (6.0, "familiar"))
    assert (channel["text.deadline_s"], channel["deadline_s"]) == ((45.0, "channel"), (30.0, "mode"))
    assert (channel["voice.deadline_s"], channel["mode"]) == ((6.0, "familiar"), ("full_rp", "channel"))
    assert (untouched["text.deadline_s"], untouched["mode"][1]) == ((24.0, "mode"), "default")
    assert set(shown("--channel", "5", "--changed")) == {"mode", "text.deadline_s", "voice.deadline_s"}


def test_config_check_reads_every_settings_file(monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path) -> None:
    """One sentence for each that is wrong, exit code 1."""
    root = make_home(tmp_path)
    home = ["--home", str(tmp_path)]
    assert call(monkeypatch, *home, "config", "check") == 0
    assert "fine" in capsys.readouterr().out
    (root / "channels").mkdir()
    (root / "channels" / "5.toml").write_text('mode = "opera"', encoding="utf-8")
    (root / "privacy.toml").write_text("[[person", encoding="utf-8")

    assert call(monkeypatch, *home, "config", "check") == 1
    said = capsys.readouterr().out
    assert "5.toml" in said
    assert "privacy.toml" in said


async def talked(home: Path) -> None:
    async with scripted_familiar(home, ["Hello!"]) as house:
        await house.talk("Do you know Pickle?")


@pytest.fixture
async def lived_in(tmp_path: Path) -> Path:
    """A home in which one turn was made."""
    await talked(tmp_path)
    return tmp_path


def test_inspect_explains_the_last_prompt(monkeypatch: pytest.MonkeyPatch, capsys: Shown, lived_in: Path) -> None:
    """For people, and as JSON."""
    home = ["--home", str(lived_in)]
    assert call(monkeypatch, *home, "inspect") == 0
    page = capsys.readouterr().out
    assert "Pickle" in page
    assert "character:description" in page
    assert call(monkeypatch, *home, "inspect", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert "Pickle" in json.dumps(told)
    assert call(monkeypatch, *home, "inspect", "--list", "--json") == 0
    (turn,) = json.loads(capsys.readouterr().out)
    assert call(monkeypatch, *home, "inspect", turn["trace_id"]) == 0
    assert turn["trace_id"] in capsys.readouterr().out
    assert call(monkeypatch, *home, "inspect", "--list") == 0
    short = capsys.readouterr().out.splitlines()[1].split()[2]
    assert turn["trace_id"].endswith(short)
    assert call(monkeypatch, *home, "inspect", short) == 0
    assert turn["trace_id"] in capsys.readouterr().out
    assert call(monkeypatch, *home, "inspect", "nope") == 1
    assert "--list" in capsys.readouterr().err


def test_replay_makes_the_prompt_anew(monkeypatch: pytest.MonkeyPatch, capsys: Shown, lived_in: Path) -> None:
    """The last one, or one by name; a turn that is not kept is named."""
    home = ["--home", str(lived_in)]
    assert call(monkeypatch, *home, "replay", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["same"] is True
    assert "Pickle" in told["messages"][-1]["content"]
    assert call(monkeypatch, *home, "replay", told["trace_id"]) == 0
    shown = capsys.readouterr()
    assert "Pickle" in shown.out
    assert "byte for byte" in shown.err
    assert call(monkeypatch, *home, "replay", "20200101-nope") == 1
    assert "20200101-nope" in capsys.readouterr().err


def test_metrics_report_over_past_turns(monkeypatch: pytest.MonkeyPatch, capsys: Shown, lived_in: Path) -> None:
    """p50 and p95 per stage, one stage, by tag, compared, as JSON."""
    home = ["--home", str(lived_in)]
    assert call(monkeypatch, *home, "metrics") == 0
    page = capsys.readouterr().out
    assert all(word in page for word in ("p50", "p95", "model", "Throughput: 1 turn\n"))
    assert call(monkeypatch, *home, "metrics", "--stage", "model") == 0
    assert "p95" in capsys.readouterr().out
    assert call(monkeypatch, *home, "metrics", "--stage", "nope") == 1
    assert "model" in capsys.readouterr().err
    assert call(monkeypatch, *home, "metrics", "--json", "--tag", "mode=text_conversation_rp") == 0
    (turn,) = json.loads(capsys.readouterr().out)
    assert turn["stages"]["model"] >= 0
    assert call(monkeypatch, *home, "metrics", "--json", "--tag", "mode=other") == 0
    assert json.loads(capsys.readouterr().out) == []
    assert call(monkeypatch, *home, "metrics", "--compare", "mode") == 0
    assert "text_conversation_rp" in capsys.readouterr().out
    assert call(monkeypatch, *home, "metrics", "--tag", "mode") == 2
    assert "K=V" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["metrics", "inspect", "replay"])
def test_before_the_first_turn_the_missing_file_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path, verb: str
) -> None:
    """With what to do about it."""
    make_home(tmp_path)

    assert call(monkeypatch, "--home", str(tmp_path), verb) == 1
    said = capsys.readouterr().err
    assert "metrics.db" in said
    assert f"familiar --home {tmp_path} chat --familiar ember" in said


def test_doctor_finds_nothing_wrong_with_a_fresh_home(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """And makes nothing either."""
    assert call(monkeypatch, "--home", str(tmp_path / "new"), "doctor", "--all") == 0
    assert f"familiar --home {tmp_path / 'new'} chat" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


def test_doctor_tells_what_is_wrong_and_the_fix(monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path) -> None:
    """Every area in one run, exit code 1."""
    root = make_home(tmp_path)
    write_default_model(root / "character.toml", model="m", base_url="http://127.0.0.1:9/v1", api_key_env="NO_SUCH_KEY")
    (root / "history.db").write_bytes(b"this is no database " * 200)
    (root / "memory" / "self" / "personality.md").write_bytes(b"\xff\xfe bad")

    assert call(monkeypatch, "--home", str(tmp_path), "doctor", "--json") == 1
    findings = {(each["area"], each["state"]): each["says"] for each in json.loads(capsys.readouterr().out)}
    assert "NO_SUCH_KEY" in findings["key", "bad"]
    assert f"familiar --home {tmp_path} connect" in findings["key", "bad"]
    assert "history.db" in findings["history", "bad"]
    assert "personality.md" in findings["memory", "bad"]
    assert ("disk", "ok") in findings
    assert ("index", "ok") in findings


def test_doctor_asks_models_unless_it_is_told_not_to(
    monkeypatch: pytest.MonkeyPatch, capsys: Shown, tmp_path: Path
) -> None:
    """The one that does not answer is named; offline nobody far away is bothered."""
    root = make_home(tmp_path)
    write_default_model(root / "character.toml", model="m", base_url="https://nowhere.invalid/v1")
    TrustedOrigins(tmp_path).add("https://nowhere.invalid")
    home = ["--home", str(tmp_path)]

    assert call(monkeypatch, *home, "doctor", "--all", "--offline") == 0
    assert "without --offline" in capsys.readouterr().out
    assert call(monkeypatch, *home, "doctor", "--all") == 1
    assert "nowhere.invalid" in capsys.readouterr().out
