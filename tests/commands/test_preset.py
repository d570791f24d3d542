"""familiar preset and familiar import preset, as their owner types them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.commands import preset
from familiar_connect.errors import PresetError
from tests.fakes.command_call import call_command

Run = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FAMILIAR_ID", raising=False)
    make_starter(tmp_path / "home", "ember")
    return tmp_path / "home"


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`familiar preset …`; what it said on either stream."""

    def call(*words: str, command: click.Command = preset.preset, typed: str = "") -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        capsys.readouterr()
        call_command(command, home, *words, name="familiar preset")
        out, err = capsys.readouterr()
        return out + err

    return call


def a_file(folder: Path, name: str = "Default.json", text: str = "Be kind, {{char}}.", **more: Any) -> str:
    prompts: list[dict[str, Any]] = [
        {"identifier": "main", "name": "Main Prompt", "content": text, "system_prompt": True},
        {"identifier": "chatHistory", "name": "Chat History", "marker": True},
        {"identifier": "s", "name": "Style", "content": "Short.", "injection_position": 1, "injection_depth": 2},
        {"identifier": "n", "name": "Note", "content": "{{// by me }}", "role": "user"},
    ]
    order = [{"identifier": prompt["identifier"], "enabled": prompt["identifier"] != "s"} for prompt in prompts]
    document = {"prompts": prompts, "prompt_order": [{"character_id": 100001, "order": order}], **more}
    path = folder / name
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return str(path)


def test_an_import_tells_what_it_found_and_what_to_do_next(run: Run, tmp_path: Path, home: Path) -> None:
    """The file is kept byte for byte in the familiar's folder."""
    said = run("import", a_file(tmp_path, "明月秋青.json", temperature=1))

    assert said.startswith("明月秋青 is here and is in force for ember from the next reply on.")
    assert "4 prompts: 1 marker, 3 texts (2 on, 1 only comments)." in said
    assert "Off, as the preset has it: Style." in said
    assert "Holds for replies, over your model's slot: temperature 1." in said
    kept = home / "familiars" / "ember" / "presets" / "明月秋青.json"
    assert kept.read_bytes() == (tmp_path / "明月秋青.json").read_bytes()


def test_import_preset_is_the_same(run: Run, tmp_path: Path) -> None:
    """Under the name the other imports have."""
    said = run(a_file(tmp_path), "--name", "Mine", "--json", command=preset.import_preset)
    facts, _ = json.JSONDecoder().raw_decode(said)  # what stands behind it went to the other stream

    assert (facts["name"], facts["outcome"], facts["in_order"], facts["fidelity"]) == (
        "Mine",
        "imported",
        4,
        "with_memory",
    )
    assert preset.import_preset.name == "preset"


def test_another_preset_of_the_name_needs_overwrite(run: Run, tmp_path: Path) -> None:
    """The same one does not."""
    run("import", a_file(tmp_path))
    assert run("import", a_file(tmp_path)).startswith("Default was here already")
    a_file(tmp_path, text="Other.")

    with pytest.raises(PresetError, match="--overwrite"):
        run("import", str(tmp_path / "Default.json"))
    said = run("import", str(tmp_path / "Default.json"), "--overwrite")
    assert "replaces the earlier one" in said
    assert "kept as .versions/Default/1.json" in said


@pytest.mark.parametrize(
    ("name", "content", "fragment"),
    [
        ("a.png", b"x", "a preset is a .json file"),
        ("missing.json", None, "there is no such file"),
        ("list.json", b"[]", "holds a list"),
        ("huge.json", b" " * (2 * 1024 * 1024 + 1), "larger than 2,097,152 bytes"),
        ("card.json", b'{"spec": "chara_card_v2"}', "is a character card"),
        (".json", b"{}", "a preset is a .json file"),
    ],
)
def test_a_wrong_file_is_told(
    run: Run, tmp_path: Path, home: Path, name: str, content: bytes | None, fragment: str
) -> None:
    """In one sentence; nothing is written."""
    if content is not None:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(PresetError) as caught:
        run("import", str(tmp_path / name))
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (home / "familiars" / "ember" / "presets").exists()


def test_a_folder_is_no_preset(run: Run, tmp_path: Path) -> None:
    """Whatever it is called."""
    (tmp_path / "a.json").mkdir()

    with pytest.raises(PresetError, match="is not a file"):
        run("import", str(tmp_path / "a.json"))


def test_the_list_marks_the_one_in_force(run: Run, tmp_path: Path, home: Path) -> None:
    """And tells what is wrong with one that cannot be read."""
    assert "has no presets" in run("list")
    run("import", a_file(tmp_path, "A.json"))
    run("import", a_file(tmp_path, "B.json", text="B"))
    (home / "familiars" / "ember" / "presets" / "C.json").write_text("broken")
    lines = run("list").splitlines()

    assert [line[:3] for line in lines[:3]] == ["  A", "* B", "  C"]
    assert "4 prompts, 2 of 3 texts on" in lines[0]
    assert "not valid JSON" in lines[2]
    assert json.loads(run("list", "--json"))["active"] == "B"


def test_one_is_used_and_put_away(run: Run, tmp_path: Path) -> None:
    """From the next reply on."""
    run("import", a_file(tmp_path, "A.json"))
    run("import", a_file(tmp_path, "B.json", text="B"))

    assert run("use", "a") == "A is in force for ember from the next reply on.\n"
    assert json.loads(run("use", "B", "--json")) == {"active": "B"}
    assert "No preset is in force" in run("off")
    assert "None is in force." in run("list")
    assert json.loads(run("off", "--json")) == {"active": None}


def test_a_prompt_is_switched(run: Run, tmp_path: Path) -> None:
    """By name, number or identifier; a comment says that it is one."""
    run("import", a_file(tmp_path))

    assert run("toggle", "style") == "Style is on in Default.\n"
    assert run("toggle", "3", "off") == "Style is off in Default.\n"
    assert "never sent" in run("toggle", "n", "on", "--preset", "default")
    assert json.loads(run("toggle", "s", "--json")) == {"preset": "Default", "identifier": "s", "enabled": True}
    with pytest.raises(PresetError, match="no node 'zzz'"):
        run("toggle", "zzz")
    with pytest.raises(click.BadParameter):
        run("toggle", "s", "maybe")


def test_show_prints_the_prompts_in_order(run: Run, tmp_path: Path) -> None:
    """On or off, role, marker, place; with --text what each says."""
    run("import", a_file(tmp_path))
    run("toggle", "style")
    lines = run("show").splitlines()

    assert lines[0] == "Default (in force)"
    assert [line.split() for line in lines[1:5]] == [
        ["1", "on", "Main", "Prompt", "system"],
        ["2", "on", "Chat", "History", "system,", "marker"],
        ["3", "on", "Style", "system,", "in", "the", "chat,", "depth", "2,", "switched", "by", "you"],
        ["4", "on", "Note", "user,", "comment,", "never", "sent"],
    ]
    assert "        Be kind, {{char}}." in run("show", "default", "--text").splitlines()
    facts = json.loads(run("show", "--json", "--text"))
    assert [(node["identifier"], node["depth"], node["content"]) for node in facts["nodes"]][2] == ("s", 2, "Short.")


def test_show_counts_in_the_order_that_is_in_force(run: Run, tmp_path: Path, home: Path) -> None:
    """The familiar's setting, unless another is asked for."""
    path = tmp_path / "bare.json"
    path.write_text('{"prompts": [{"identifier": "a", "content": "A"}]}')
    run("import", str(path))
    settings = home / "familiars" / "ember" / "character.toml"

    assert len(json.loads(run("show", "--json"))["nodes"]) == 1
    assert len(json.loads(run("show", "--json", "--fidelity", "sillytavern"))["nodes"]) == 12
    settings.write_text('preset_fidelity = "sillytavern"\n')
    assert len(json.loads(run("show", "--json"))["nodes"]) == 12
    settings.write_text("broken")
    assert len(json.loads(run("show", "--json"))["nodes"]) == 1


def test_nothing_in_force_is_told(run: Run) -> None:
    """With where to look."""
    with pytest.raises(PresetError, match="preset list"):
        run("show")


def test_deleting_asks_first(run: Run, tmp_path: Path) -> None:
    """A survivor takes its place."""
    run("import", a_file(tmp_path, "A.json"))
    run("import", a_file(tmp_path, "B.json", text="B"))

    assert "Nothing was deleted." in run("delete", "b", typed="n\n")
    assert "In force: A." in run("delete", "b", typed="y\n")
    assert json.loads(run("delete", "A", "--yes", "--json")) == {"deleted": "A", "active": None}


@pytest.mark.parametrize("words", [(), ("import",), ("list",), ("use",), ("off",), ("toggle",), ("show",), ("delete",)])
def test_every_verb_shows_examples(run: Run, words: tuple[str, ...]) -> None:
    """In its help."""
    assert "Examples:\n    familiar preset" in run(*words, "--help")


def test_what_a_preset_says_does_not_command_the_terminal(run: Run, tmp_path: Path) -> None:
    """Escape sequences in names and texts are taken out."""
    path = tmp_path / "x.json"
    path.write_text(
        json.dumps({"prompts": [{"identifier": "\x1b[2Ja", "name": "\x1b[31mred", "content": "\x1b]0;x\x07{{\x1bz}}"}]})
    )

    assert "\x1b" not in run("import", str(path)) + run("show", "--text") + run("show", "--json", "--text")


def test_a_channel_has_a_preset_of_its_own(run: Run, tmp_path: Path, home: Path) -> None:
    """By its name in any case, beside what its settings say already; the familiar's stays what it is."""
    sidecar = home / "familiars" / "ember" / "channels" / "42.toml"
    sidecar.parent.mkdir(exist_ok=True)
    sidecar.write_text('# my den\nmode = "full_rp"\n\n[typing_simulation]\nenabled = false\n', encoding="utf-8")
    run("import", a_file(tmp_path, "Default.json"))
    run("import", a_file(tmp_path, "Night.json"))
    said = run("use", "default", "--channel", "42")
    written = sidecar.read_text(encoding="utf-8")
    run("off", "--channel", "42")

    assert "Default is in force in channel 42" in said
    assert written == '# my den\nmode = "full_rp"\npreset = "Default"\n\n[typing_simulation]\nenabled = false\n'
    assert 'preset = "none"' in sidecar.read_text(encoding="utf-8")
    assert json.loads(run("list", "--json"))["active"] == "Night"


def test_a_channel_cannot_have_a_preset_that_is_not_there(run: Run, home: Path) -> None:
    """And its settings are left alone."""
    with pytest.raises(PresetError, match="Nowhere"):
        run("use", "Nowhere", "--channel", "42")

    assert not (home / "familiars" / "ember" / "channels" / "42.toml").exists()
