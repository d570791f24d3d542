"""A slip in a place is told when its platform starts, with the right name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from inspect import isabstract

import pytest

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.place_check import METHODS, check_place_class
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.chat.unsent_place import UnsentPlace
from familiar_connect.commands.answer_place import AnswerPlace
from familiar_connect.errors import DeliveryError, NotSupported, SetupError
from familiar_connect.extensions.discord.place import AlterPlace, DiscordPlace
from familiar_connect.extensions.discord.rehearsal import RehearsedChat
from familiar_connect.extensions.telegram.place import ChatPlace, DirectPlace
from familiar_connect.extensions.telegram.rehearsal import RehearsedGroup
from familiar_connect.extensions.testing.scripted_familiar import RecordedPlace
from familiar_connect.extensions.twitch.place import TwitchPlace
from familiar_connect.platforms.supervise import run_all
from familiar_connect.platforms.terminal.group_member import GroupPlace
from familiar_connect.platforms.terminal.place import TerminalPlace
from familiar_connect.platforms.web.place import WebPlace
from familiar_connect.rehearsal.place import BuiltInRehearsalPlace, RehearsalPlace
from familiar_connect.reply.control_place import ControlPlace
from familiar_connect.reply.outbox import OutgoingReply
from familiar_connect.voice.place import VoicePlace
from tests.fakes.place import ClosedPlace, EditablePlace, RecordingPlace

OURS: tuple[type[Place], ...] = (
    AlterPlace,
    AnswerPlace,
    ChatPlace,
    ControlPlace,
    DirectPlace,
    DiscordPlace,
    RehearsedChat,
    RehearsedGroup,
    GroupPlace,
    OutgoingReply,
    RecordedPlace,
    RehearsalPlace,
    TerminalPlace,
    TwitchPlace,
    UnsentPlace,
    BuiltInRehearsalPlace,
    VoicePlace,
    WebPlace,
)


class PlainPlace(Place):
    """No more than every place has."""

    features = PlaceFeatures(limit=10)

    async def send(self, text: str) -> None: ...

    async def notice(self, text: str) -> None: ...

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return ()

    async def scene(self) -> Scene:
        return Scene()


def kinds_of(kind: type) -> set[type]:
    """Every class that inherits *kind*."""
    below: list[type] = kind.__subclasses__()
    return {each for one in below for each in {one, *kinds_of(one)}}


@pytest.mark.parametrize("kind", [*OURS, PlainPlace, RecordingPlace, EditablePlace, ClosedPlace])
def test_our_own_places_are_without_a_slip(kind: type[Place]) -> None:
    """Whatever they have beside what every place has."""
    check_place_class(kind)


def test_no_place_of_ours_is_left_out() -> None:
    """Of those that are loaded, and that can be made."""
    ours = [each for each in kinds_of(Place) if each.__module__.startswith("familiar_connect.")]
    loaded = {each.__qualname__ for each in ours if not isabstract(each)}

    assert loaded == {each.__qualname__ for each in OURS}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("edt", "edit"),
        ("postOnce", "post_once"),
        ("tell_askr", "tell_asker"),
        ("Speak", "speak"),
        ("thinkng", "thinking"),
    ],
)
def test_a_misspelt_method_is_told_with_the_right_name(wrong: str, right: str) -> None:
    """Else it would be passed over in silence."""
    kind = type("IrcPlace", (PlainPlace,), {wrong: lambda self: None, "__module__": "familiar_irc"})

    with pytest.raises(SetupError, match=rf"familiar_irc\.IrcPlace has `{wrong}`.* a place's method is `{right}`"):
        check_place_class(kind)


def test_a_misspelt_method_that_every_place_has_is_told_before_that_it_is_lacking() -> None:
    """The right name helps more."""
    kept = {name: value for name, value in vars(PlainPlace).items() if name not in ("send", "__dict__", "__weakref__")}
    kind = type("IrcPlace", (Place,), {**kept, "sned": PlainPlace.send})
    without = type("IrcPlace", (Place,), kept)

    with pytest.raises(SetupError, match=r"has `sned`.* is `send`"):
        check_place_class(kind)
    with pytest.raises(SetupError, match="lacks what every place has: send"):
        check_place_class(without)


def test_a_name_of_its_own_is_no_slip() -> None:
    """Nor is one that is close to a method which the place has, one with a further word, or a private one."""

    class Room(PlainPlace):
        def end(self) -> None: ...

        def join(self) -> None: ...

        def note_message(self) -> None: ...

        def _edt(self) -> None: ...

    check_place_class(Room)


def test_features_and_methods_agree() -> None:
    """A feature without its method fails in the middle of a reply; a method without its feature is never called."""

    class Boasting(PlainPlace):
        features = replace(PlainPlace.features, rewrites=True)

    class Modest(PlainPlace):
        async def send_sticker(self, name: str) -> None: ...

    with pytest.raises(SetupError, match="says `rewrites` among its features and has no `rewrite`"):
        check_place_class(Boasting)
    with pytest.raises(SetupError, match="has `send_sticker`, which nobody calls: its features do not say `stickers`"):
        check_place_class(Modest)


def test_every_feature_that_needs_a_method_names_one_of_place() -> None:
    """The others need none."""
    without = {"limit", "streams", "edit_interval_s", "keeps_owed"}

    assert {field.name for field in fields(PlaceFeatures)} == set(METHODS) | without
    assert all(hasattr(Place, method) for methods in METHODS.values() for method in methods)


def test_features_that_exclude_each_other_are_refused() -> None:
    """What tells only an id cannot grow."""
    with pytest.raises(ValueError, match="does not edit"):
        PlaceFeatures(limit=1, posts_answers=True, edits=True)
    with pytest.raises(ValueError, match="does not stream"):
        PlaceFeatures(limit=1, posts_answers=True, streams=True)
    with pytest.raises(ValueError, match="does not stream"):
        PlaceFeatures(limit=1, posts_once=True, streams=True)


def test_what_is_no_place_is_told() -> None:
    """Methods of the same names are not enough: later ones would be lacking."""
    with pytest.raises(SetupError, match="let it inherit `Place`"):
        check_place_class(Scene)  # type: ignore[arg-type]


async def test_a_plain_place_does_nothing_harmful_and_says_what_it_cannot() -> None:
    """What it cannot do is an error that costs one reply."""
    place = PlainPlace()

    async with place.thinking():
        await place.plan(["a"])
    assert place.speak_as("Moss") is place
    assert place.text_marks(()) is None
    assert await place.why_not_writable() is None
    assert await place.message("1") is None
    assert await place.reactors("1", "tea", 5) is None
    with pytest.raises(NotSupported, match="cannot be changed"):
        await place.edit(None, "x")
    assert issubclass(NotSupported, DeliveryError)


class Platform:
    """One that only notes that it ran."""

    def __init__(self, name: str, *places: type[Place]) -> None:
        self.id, self.places = name, places
        self.has_run = False

    async def run(self) -> None:
        self.has_run = True


async def test_a_platform_with_a_slip_stays_off_and_the_others_run() -> None:
    """The owner is told the sentence."""
    wrong = type("IrcPlace", (PlainPlace,), {"edt": lambda self: None})
    told: list[str] = []
    bad, good = Platform("irc", PlainPlace, wrong), Platform("lines", PlainPlace)

    problems = await run_all([bad, good], tell=told.append)

    assert (bad.has_run, good.has_run, list(problems)) == (False, True, ["irc"])
    assert len(told) == 1
    assert told[0].startswith("irc stays off: ")
    assert "IrcPlace has `edt`" in told[0]
    assert "`edit`" in told[0]
