"""ControlDoor: who reads what a control of a chat makes."""

from __future__ import annotations

import pytest

from familiar_connect.chat.scene import Scene
from familiar_connect.extensions.host import PlatformHost, ReadBy
from familiar_connect.identity import Author
from familiar_connect.reply.chat_controls import ControlDoor
from tests.fakes.place import RecordingPlace

LEA = Author("irc", "lea@host", "lea", "Lea")


class PlaceOf(RecordingPlace):
    """A place with a given scene."""

    def __init__(self, shown: Scene) -> None:
        super().__init__()
        self._shown = shown

    async def scene(self) -> Scene:
        return self._shown


@pytest.mark.parametrize(
    ("read_by", "is_dm"), [(ReadBy.everyone, False), (ReadBy.members, False), (ReadBy.people, True)]
)
async def test_a_room_of_a_platform_without_servers_is_no_direct_message(read_by: ReadBy, is_dm: bool) -> None:
    """What is made there is for all who read there, not for whoever used the control."""
    place = PlaceOf(PlatformHost.scene("#tea", read_by=read_by, people=[LEA]))

    assert await ControlDoor(channel_id=7, speaker=LEA, place=place).is_dm() is is_dm
