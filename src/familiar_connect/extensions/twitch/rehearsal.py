"""RehearsedChat: lines of a rehearsal as Twitch's chat has them: what is a command is done, and is no talk."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.api import Author, Place, PlatformHost
from familiar_connect.api.stand_in import RehearsedPerson
from familiar_connect.extensions.twitch.account import TwitchUser
from familiar_connect.extensions.twitch.commands import ChatCommands
from familiar_connect.extensions.twitch.inbound import HeardLine, hear_text


class RehearsedChat:
    """The chat of one channel, by the code that runs live."""

    def __init__(self, host: PlatformHost, channel: str, people: Sequence[RehearsedPerson]) -> None:
        self._host = host
        self._users = {(each.username or each.name).lower(): each for each in people}
        self._commands = ChatCommands(host, channel, self._find_user)

    def read(self, text: str) -> str:
        return hear_text(text)

    async def answer_command(self, author: Author, text: str, place: Place, *, is_in_charge: bool) -> list[str] | None:
        if self._commands.parse(text) is None:
            return None
        line = HeardLine(author=author, text=text, said_at=self._host.clock.now(), message_id="")
        answer = await self._commands.answer(line, place, is_moderator=is_in_charge)
        return [answer] if answer is not None else []

    async def _find_user(self, login: str) -> TwitchUser | None:
        """Somebody of the rehearsal by the name that the chat shows."""
        found = self._users.get(login)
        return None if found is None else TwitchUser(user_id=str(found.id), login=login, name=found.name)
