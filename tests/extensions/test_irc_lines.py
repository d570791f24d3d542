"""The parts of the IRC example that need no server: lines, cutting, rooms and who is who."""

from __future__ import annotations

import ast
import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from familiar_irc.connection import FIRST_LINES, MAX_WAITING, ConnectionLost, IrcConnection
from familiar_irc.lines import (
    LONGEST_LINE,
    IrcLine,
    fold_nick,
    matches_mask,
    parse_line,
    plain_text,
    says_nick,
    split_text,
    text_room,
    write_line,
)
from familiar_irc.rooms import MAX_MEMBERS, MAX_PEOPLE, People, Room, ServerFacts
from familiar_irc.settings import IrcSettings, why_not_set_up
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.api import DeliveryError, PartContext
from familiar_connect.support.clock import ManualClock
from tests.fakes.extension_packages import EXAMPLES


def test_examples_import_nothing_of_ours_but_the_api() -> None:
    """What an example needs, a stranger gets from `familiar_connect.api`."""
    files = sorted(EXAMPLES.rglob("*.py"))
    own = {path.stem if path.is_file() else path.name for each in EXAMPLES.iterdir() for path in each.iterdir()}
    wrong = [
        (file.name, name)
        for file in files
        for name in imported(file)
        if name.split(".")[0] == "familiar_connect" and name.split(".")[:2] != ["familiar_connect", "api"]
    ]

    assert len(files) > 5
    assert "familiar_irc" in own
    assert wrong == []


def imported(file: Path) -> list[str]:
    """The modules that *file* imports, wherever in it."""
    found = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    plain = [alias.name for node in found if isinstance(node, ast.Import) for alias in node.names]
    return plain + [node.module or "." for node in found if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b":ada!a@h PRIVMSG #tea :hi  there :)\r\n", IrcLine("PRIVMSG", ("#tea", "hi  there :)"), "ada!a@h")),
        (b"PING :irc.example\r\n", IrcLine("PING", ("irc.example",))),
        (
            b"@time=x;msgid=1 :s 005 me  CASEMAPPING=ascii :ok\r\n",
            IrcLine("005", ("me", "CASEMAPPING=ascii", "ok"), "s"),
        ),
        (b":s join #tea\n", IrcLine("JOIN", ("#tea",), "s")),
        (b":s PRIVMSG me :caf\xe9\r\n", IrcLine("PRIVMSG", ("me", "café"), "s")),
        (b":only-a-prefix\r\n", None),
        (b"\r\n", None),
    ],
)
def test_a_line_of_a_server_is_taken_apart(raw: bytes, line: IrcLine | None) -> None:
    """Tags and odd spaces are passed over; what is no UTF-8 is read as the older letters."""
    assert parse_line(raw) == line


@given(st.binary(max_size=600))
def test_nothing_that_a_server_sends_breaks_the_reader(raw: bytes) -> None:
    """Whatever it is, it is a line or none, with a bounded number of parameters."""
    line = parse_line(raw)

    assert line is None or len(line.params) <= 15


@given(st.text(max_size=2_000), st.integers(4, 450))
def test_cut_text_fits_is_whole_and_holds_no_end_of_line(text: str, room: int) -> None:
    """Every piece fits in bytes; put together again, no letter is missing."""
    pieces = list(split_text(text, room))

    assert all(0 < len(piece.encode("utf-8", "replace")) <= room for piece in pieces)
    assert not any(set("\r\n\0\1") & set(piece) for piece in pieces)
    kept = "".join(text.encode("utf-8", "replace").decode().split()).translate(dict.fromkeys(b"\0\1"))
    assert "".join("".join(pieces).split()) == kept


def test_text_is_cut_between_words_where_there_are_any() -> None:
    """A word that fits is never broken; one that is longer than a line is."""
    words = ["straße"] * 100

    assert {word for piece in split_text(" ".join(words), 50) for word in piece.split()} == {"straße"}
    assert list(split_text("é" * 10, 5)) == ["éé"] * 5


@given(st.text(max_size=1_000), st.sampled_from(["#tea", "ada"]))
def test_whatever_is_said_is_one_line_of_talk(text: str, target: str) -> None:
    """A reply cannot end its line and begin a command of its own, nor be a question between programs."""
    sent = write_line("PRIVMSG", target, text=text)

    assert sent.startswith(f"PRIVMSG {target} :".encode())
    assert sent.endswith(b"\r\n")
    assert not set(b"\r\n\0\1") & set(sent[:-2])
    assert len(sent) <= LONGEST_LINE


@pytest.mark.parametrize("target", ["a b", "", ":a", "a\r\nQUIT", "a\0", "a\n"])
def test_a_name_that_is_no_single_word_is_never_sent(target: str) -> None:
    """It could else become a command."""
    with pytest.raises(ValueError, match="one word"):
        write_line("PRIVMSG", target, text="hi")


@given(st.text(max_size=1_500))
def test_lines_fit_with_the_prefix_that_others_get(text: str) -> None:
    """Also under the longest nick, user and host that a server shows."""
    nick, target = "n" * 30, "#" + "r" * 49
    prefix = f":{nick}!{'u' * 10}@{'h' * 63} ".encode()
    sent = [write_line("PRIVMSG", target, text=piece) for piece in split_text(text, text_room(nick, "PRIVMSG", target))]

    assert all(len(prefix + line) <= LONGEST_LINE for line in sent)


def test_what_people_write_is_read_without_colours_and_questions_between_programs() -> None:
    """An action is told as one."""
    assert plain_text("\x02bold\x0f \x0304,01red\x03 plain\x1f") == "bold red plain"
    assert plain_text("\x01ACTION waves\x01") == "* waves"
    assert plain_text("\x01VERSION\x01") is None


def test_names_are_compared_as_the_server_does() -> None:
    """[] and {} are one letter in the oldest mapping, two in ascii; other scripts are left alone."""
    assert fold_nick("Ada[Home]^") == "ada{home}~"
    assert fold_nick("Ada[Home]^", "ascii") == "ada[home]^"
    assert fold_nick("Ada^", "rfc1459-strict") == "ada^"
    assert fold_nick("ÀDA", "ascii") == "Àda"
    assert says_nick("hello EMBER, you", "Ember")
    assert not says_nick("remember Ember_2 and ember|away", "Ember")


def test_an_owner_is_known_by_host_and_not_by_nick() -> None:
    """A mask that leaves the host open is refused in the settings."""
    assert matches_mask("ada!*@user/ada", "Ada!~x@user/ada")
    assert not matches_mask("ada!*@user/ada", "ada!~x@elsewhere")
    assert not matches_mask("ada!*@user.ada", "ada!~x@userxada")
    assert not matches_mask("*!*@user/ada", "user/ada")
    assert not matches_mask("", "ada!x@h")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (IrcSettings(), "write the server"),
        (IrcSettings(host="h", owner="ada!*@*"), "nick!user@host with a host"),
        (IrcSettings(host="h", owner="ada"), "nick!user@host with a host"),
        (IrcSettings(host="h", channels=["tea"]), "is no room"),
        (IrcSettings(host="h", channels=["#tea\r\nQUIT"]), "is no room"),
        (IrcSettings(host="h", channels=["#r"] * 21), "more than 20 rooms"),
        (IrcSettings(host="h", nick="4 you"), "is no nick"),
        (IrcSettings(host="h", port=70_000), "name no server"),
        (IrcSettings(host="h", nick="Ember", channels=["#tea", "#den key"], owner="*!*@user/ada"), None),
    ],
)
def test_settings_that_cannot_work_are_told_in_a_sentence(settings: IrcSettings, words: str | None) -> None:
    """Before anything connects."""
    context = PartContext(settings=settings, clock=ManualClock(datetime(2026, 1, 1, tzinfo=UTC)), folder=Path("x"))
    told = why_not_set_up(context)

    assert told is None if words is None else told is not None and words in told


def test_a_room_is_public_only_while_the_server_says_that_everybody_may_come_in() -> None:
    """Unknown, by invitation, with a key, secret, private: not public. Words of other modes are passed over."""
    facts = ServerFacts()
    facts.learn(["CHANMODES=beI,k,l,imnpst", "PREFIX=(qaohv)~&@%+"])
    room = Room("#tea", facts)
    room.enter()
    seen = [room.is_public]
    room.learn_modes("+nt")
    seen.append(room.is_public)
    for mode, words in [("+l", ["5"]), ("+bk-l", ["x!*@*", "key"]), ("-k", ["key"]), ("+s-s+p", []), ("-p+o", ["ada"])]:
        room.change_modes(mode, words)
        seen.append(room.is_public)
    room.leave()

    assert seen == [False, True, True, False, True, False, True]
    assert not room.is_public


def test_operators_are_those_whom_the_server_marks() -> None:
    """Founders and admins too, half-operators and voices not; a rename keeps it, leaving ends it."""
    facts = ServerFacts()
    facts.learn(["PREFIX=(qaohv)~&@%+", "CASEMAPPING=ascii"])
    room = Room("#tea", facts)
    room.enter()
    room.add_names(["~Fay", "@ada", "%hal", "+vi", "bo", "@+both"])

    assert [nick for nick in ("fay", "ADA", "hal", "vi", "bo", "both", "nobody") if room.is_operator(nick)] == [
        "fay",
        "ADA",
        "both",
    ]
    room.rename("ada", "ada_away")
    room.change_modes("-o+o", ["both", "bo"])
    room.remove("fay")
    room.add("fay")
    assert [nick for nick in ("fay", "ada", "ada_away", "bo", "both") if room.is_operator(nick)] == ["ada_away", "bo"]


def test_somebody_with_the_same_nick_from_elsewhere_is_another_person() -> None:
    """Whoever changes their nick in our sight stays who they are; with `known_by = "nick"` the nick decides."""
    people = People(ServerFacts(), by_nick_alone=False)
    ada = people.meet("Ada", "Ada!x@home").user_id
    thief = people.meet("ada", "ada!x@elsewhere").user_id
    people.meet("bo", "bo!x@h")
    people.rename("bo", "bo_away", "bo!x@h")

    assert (ada, thief) == ("ada@home", "ada@elsewhere")
    assert people.with_id(ada) is None
    assert people.meet("bo_away", "bo_away!x@h").user_id == "bo@h"
    assert People(ServerFacts(), by_nick_alone=True).meet("Ada", "Ada!x@h").user_id == "ada"


def test_a_server_full_of_people_is_remembered_in_bounds() -> None:
    """Those beyond are nobody special."""
    people, room = People(ServerFacts(), by_nick_alone=False), Room("#tea", ServerFacts())
    room.add_names(f"@n{number}" for number in range(MAX_MEMBERS + 10))
    for number in range(MAX_PEOPLE + 10):
        people.meet(f"n{number}", f"n{number}!x@h")

    assert len(list(room.members)) == MAX_MEMBERS
    assert not room.is_operator(f"n{MAX_MEMBERS + 5}")
    assert people.under_nick("n0") is None
    assert people.under_nick(f"n{MAX_PEOPLE + 9}") is not None


async def test_lines_wait_their_turn_and_too_many_are_refused() -> None:
    """The first few go at once; a PONG waits for nobody; a line without an end is not read for ever."""
    got = bytearray()
    came, ended = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 40_000)
        try:
            while data := await reader.read(1_000):
                got.extend(data)
                came.set()
        except ConnectionError:
            pass  # it hung up on what it had not read
        finally:
            writer.close()
            ended.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        connection = await IrcConnection.open("127.0.0.1", port, tls=False, pause_s=60.0)
        sending = [asyncio.create_task(connection.send(b"line\r\n")) for _ in range(FIRST_LINES + MAX_WAITING)]
        while got.count(b"line") < FIRST_LINES:
            await came.wait()
            came.clear()
        waiting = [task for task in sending if not task.done()]
        refused = [task for task in sending if task.done() and task.exception() is not None]
        await connection.send_now(b"PONG :x\r\n")
        while b"PONG" not in got:
            await came.wait()
            came.clear()
        with pytest.raises(ConnectionLost):
            await connection.read()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        connection.close()
        await ended.wait()

    assert got.count(b"line") == FIRST_LINES
    assert len(refused) == FIRST_LINES
    assert all(isinstance(task.exception(), DeliveryError) for task in refused)
