"""Chat files as chats: what goes in comes out again, whatever cut it short; and what each kind of file says."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.bootstrap.chat_files.align import Alignment, align_messages
from familiar_connect.bootstrap.chat_files.cast import CastWish, choose_cast
from familiar_connect.bootstrap.chat_files.chat_file import ChatFile, find_sillytavern_chat
from familiar_connect.bootstrap.chat_files.chat_imports import ChatImports
from familiar_connect.bootstrap.chat_files.chat_story import keep_story, story_metadata
from familiar_connect.bootstrap.export_chat import ChatExport, export_chat
from familiar_connect.bootstrap.import_chat import ChatImporter, ChatImportResult, Progress, scan_chat
from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.files.file_lines import MAX_DEPTH
from familiar_connect.config import CharacterConfig
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import ChatImportError
from familiar_connect.history.imported_turns import ImportedTurn
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author

YOU = Author("terminal", "you", None, "Friend")
SOME_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = st.sampled_from(["Wren", "Sam", "Guest", "Σίβυλλα", ""])
DATES = st.sampled_from(
    ["March 1, 2026 6:05pm", "2026-3-1 @18h 06m 07s 008ms", "2026-03-01T18:05:00.000Z", 1772388300000, "some day", None]
)
EXTRAS = st.dictionaries(st.sampled_from(["api", "model", "image", "type"]), SOME_TEXT, min_size=1, max_size=2)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """A message as SillyTavern may write it."""
    text = draw(SOME_TEXT)
    row: dict[str, Any] = {
        "name": draw(NAMES),
        "is_user": draw(st.booleans()),
        "is_system": draw(st.booleans()),
        "mes": text,
    }
    if (date := draw(DATES)) is not None:
        row["send_date"] = date
    if draw(st.booleans()):
        row["extra"] = draw(EXTRAS)
    if draw(st.booleans()):
        others = draw(st.lists(SOME_TEXT, max_size=3))
        at = draw(st.integers(0, len(others)))
        row |= {"swipes": [*others[:at], text, *others[at:]], "swipe_id": at}
    return row


NOTES = st.fixed_dictionaries(
    {},
    optional={
        "note_prompt": SOME_TEXT,
        "note_interval": st.integers(0, 9),
        "note_position": st.integers(0, 2),
        "note_depth": st.integers(0, 99),
        "note_role": st.integers(0, 2),
        "variables": st.dictionaries(SOME_TEXT, SOME_TEXT | st.integers(), max_size=3),
        "tainted": st.booleans(),
    },
)


def write_rows(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


@contextmanager
def a_familiar(root: Path) -> Iterator[tuple[FamiliarFolder, HistoryStore]]:
    root.mkdir(parents=True, exist_ok=True)
    folder = FamiliarFolder(root)
    with closing(HistoryStore(folder.history_db)) as history:
        yield folder, history


def take_in(
    folder: FamiliarFolder, history: HistoryStore, path: Path, *, step: int = 3, progress: Progress | None = None
) -> ChatImportResult:
    file = sillytavern_chat(path)
    scan = scan_chat(file)
    cast = choose_cast(scan.names, file.header, "Wren", YOU, CastWish())
    channels = ChannelConfigStore(root=folder.channels, character=CharacterConfig())
    importer = ChatImporter(folder, history, place_id=1, channels=channels, step=step)
    before = importer.header_before(file, "c")
    result = importer.take_in(file, scan, cast, chat_name="c", progress=progress)
    keep_story(file.header, before, folder=folder, channel_id=result.record.channel_id, channels=channels)
    return result


def written_out(folder: FamiliarFolder, history: HistoryStore, channel_id: int) -> list[dict[str, Any]]:
    """The exported rows, without what our export adds."""
    record = ChatImports(folder).find(channel_id)
    assert record is not None
    channels = ChannelConfigStore(root=folder.channels, character=CharacterConfig())
    metadata = story_metadata(record.header, folder=folder, channel_id=channel_id, channels=channels)
    chat = ChatExport(
        familiar_id=folder.familiar_id,
        channel_id=channel_id,
        chat_name="c",
        character_name="Wren",
        header=record.header,
        metadata=metadata,
    )
    found: list[dict[str, Any]] = [json.loads(line) for line in export_chat(history, chat, "jsonl")]
    found[0]["chat_metadata"].pop("familiar_connect")
    for row in found[1:]:
        row["extra"].pop("familiar_connect")
        if not row["extra"]:
            del row["extra"]
    return found


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(rows(), min_size=1, max_size=8), NOTES)
def test_a_chat_goes_in_and_out_unchanged(lines: list[dict[str, Any]], metadata: dict[str, Any]) -> None:
    """Text, names, dates, swipes, hidden lines, note, variables and unknown fields; and the file again adds nothing."""
    head = {"user_name": "unused", "character_name": "unused", "chat_metadata": metadata}
    with tempfile.TemporaryDirectory() as name, a_familiar(Path(name) / "one") as (folder, history):
        path = write_rows(Path(name) / "c.jsonl", [head, *lines])
        result = take_in(folder, history, path)
        out = written_out(folder, history, result.record.channel_id)
        again = take_in(folder, history, path)
        back = write_rows(Path(name) / "back.jsonl", out)
        with a_familiar(Path(name) / "two") as (other, others_history):
            second = take_in(other, others_history, back)
            assert written_out(other, others_history, second.record.channel_id) == out

        assert out[1:] == [{**row, "is_system": bool(row["is_system"])} for row in lines]
        assert out[0]["chat_metadata"] == metadata
        assert (again.added, again.changed, again.taken_back) == (0, 0, 0)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(rows(), min_size=2, max_size=12), st.integers(1, 4), st.integers(0, 6))
def test_an_import_that_was_cut_short_is_gone_on_with(lines: list[dict[str, Any]], step: int, steps: int) -> None:
    """Wherever it was stopped, the same command brings the rest and nothing twice."""

    class Stop(Exception):
        pass

    done = [0]

    def stop_then(_done: int, _total: int) -> None:
        done[0] += 1
        if done[0] > steps:
            raise Stop

    with tempfile.TemporaryDirectory() as name, a_familiar(Path(name) / "one") as (folder, history):
        path = write_rows(Path(name) / "c.jsonl", lines)
        try:
            take_in(folder, history, path, step=step, progress=stop_then)
        except Stop:
            assert not ChatImports(folder).all()[0].is_complete
        result = take_in(folder, history, path, step=step)
        assert result.record.is_complete
        assert [row["mes"] for row in written_out(folder, history, result.record.channel_id)[1:]] == [
            row["mes"] for row in lines
        ]


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8))
def test_after_an_alignment_the_history_reads_as_the_file_or_it_is_refused(old: list[str], new: list[str]) -> None:
    """Changed and removed turns, then the new ones at the end, are the file in its order."""
    there = [ImportedTurn(number, number, f"{'x' * 8}{each}") for number, each in enumerate(old)]
    wanted = [f"{'x' * 8}{each}" for each in new]
    try:
        plan = align_messages(there, wanted, file="f", chat="c", number=1)
    except ChatImportError:
        return
    turns = {turn_id: at for at, turn_id in plan.changed.items()}
    left = [
        wanted[turns[each.turn_id]] if each.turn_id in turns else each.fingerprint
        for each in there
        if each.turn_id not in plan.gone
    ]
    assert left + [wanted[at] for at in plan.added] == wanted


def test_another_speaker_in_the_middle_is_refused_and_at_the_end_replaced() -> None:
    """A turn never changes who said it."""
    there = [ImportedTurn(1, 0, "aaaaaaaa1"), ImportedTurn(2, 1, "bbbbbbbb1")]

    assert align_messages(there, ["aaaaaaaa1", "aaaaaaaa2"], file="f", chat="c", number=1) == Alignment(
        added=[1], changed={}, gone=[2]
    )
    with pytest.raises(ChatImportError, match="message 1 has another speaker"):
        align_messages(there, ["cccccccc1", "bbbbbbbb1"], file="f", chat="c", number=1)
    with pytest.raises(ChatImportError, match="message 2 comes before messages"):
        align_messages(there, ["aaaaaaaa1", "cccccccc1", "bbbbbbbb1"], file="f", chat="c", number=1)


def sillytavern_chat(path: Path) -> ChatFile:
    found = find_sillytavern_chat(path)
    assert found is not None
    return found


def messages_of(path: Path) -> list[str]:
    return [each.text for each in sillytavern_chat(path).messages()]


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many bytes in a line, too deep a line, too long a message, too many messages: each is a sentence."""
    deep = tmp_path / "deep.jsonl"
    nested: object = {}
    for _ in range(MAX_DEPTH + 5):
        nested = {"a": nested}
    write_rows(deep, [{"name": "Wren", "mes": "Hi."}, {"name": "Wren", "mes": "Hi.", "extra": nested}])
    long = write_rows(tmp_path / "long.jsonl", [{"name": "Wren", "mes": "x" * 1_000_001}])
    many = write_rows(tmp_path / "many.jsonl", [{"name": "Wren", "mes": "x"}] * 3)

    large = write_rows(tmp_path / "large.jsonl", [{"chat_metadata": {"note_prompt": "x" * 200_001}}])

    with pytest.raises(ChatImportError, match=r"large\.jsonl, line 1: the head of a chat"):
        messages_of(large)
    with pytest.raises(ChatImportError, match=r"deep\.jsonl, line 2"):
        messages_of(deep)
    with pytest.raises(ChatImportError, match=r"long\.jsonl, line 1: holds 1,000,001 characters"):
        messages_of(long)
    monkeypatch.setattr("familiar_connect.bootstrap.chat_files.chat_file.MAX_MESSAGES", 2)
    with pytest.raises(ChatImportError, match="more than 2 messages"):
        messages_of(many)
    monkeypatch.setattr("familiar_connect.chat.files.file_lines.MAX_LINE_BYTES", 10)
    with pytest.raises(ChatImportError, match="line 1: is longer than 10 bytes"):
        messages_of(many)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_chat_or_a_sentence(data: bytes) -> None:
    """Whatever a file holds, it is another form than SillyTavern's, or reading it ends well or in one error."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "any"
        path.write_bytes(data)
        told = ""
        try:
            chat = find_sillytavern_chat(path)
            if chat is not None:
                scan_chat(chat)
        except ChatImportError as error:
            told = str(error)
        assert not told or str(path) in told


def test_a_header_that_changed_takes_over_only_what_is_new(tmp_path: Path) -> None:
    """A note the owner changed here stays, until the file says another one."""
    with a_familiar(tmp_path / "one") as (folder, history):
        head: dict[str, Any] = {"chat_metadata": {"note_prompt": "One."}}
        line = {"name": "Wren", "is_user": False, "mes": "Hi."}
        channel = take_in(folder, history, write_rows(tmp_path / "c.jsonl", [head, line])).record.channel_id
        settings_file = folder.channel_file(channel)
        settings_file.write_text(settings_file.read_text("utf-8").replace("One.", "Mine."), "utf-8")
        take_in(folder, history, tmp_path / "c.jsonl")
        kept = settings_file.read_text("utf-8")
        head["chat_metadata"]["note_prompt"] = "Two."
        take_in(folder, history, write_rows(tmp_path / "c.jsonl", [head, line]))

        assert "Mine." in kept
        assert "Two." in settings_file.read_text("utf-8")
