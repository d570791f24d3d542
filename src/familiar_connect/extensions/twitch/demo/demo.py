"""TwitchDemo: a stream's chat with several viewers and a familiar, on a Twitch of our own, from one terminal.

The familiar goes through the real Twitch library, as it would with a token; only the Twitch is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from familiar_connect.api import PlatformHost
from familiar_connect.extensions.twitch.account import Credentials
from familiar_connect.extensions.twitch.adapter import TwitchPlatform
from familiar_connect.extensions.twitch.demo.acts import ACTS, Stream
from familiar_connect.extensions.twitch.demo.chat_room import DropReason, Viewer
from familiar_connect.extensions.twitch.demo.helix import SentLine
from familiar_connect.extensions.twitch.demo.server import TwitchServer
from familiar_connect.extensions.twitch.demo.tokens import CHAT_RIGHTS, CLIENT_ID, STREAMER_RIGHTS
from familiar_connect.extensions.twitch.place import EVENT_ID
from familiar_connect.extensions.twitch.secrets import BROADCASTER_TOKEN, SPEAKER_TOKEN

CHANNEL = "the_burrow"
CHANNEL_ID, FAMILIAR_ID = "7001", "7900"
YOU = "you"
RESIDENTS = {"ada": "7002", "ben": "7003", "cy": "7004"}
"""Who is known at each start; you are the streamer, and Ada is a moderator."""
REPLY = ">"
ANSWERED_WITHIN_S = 2.0
_SAID_BY = re.compile(r"([a-z0-9_]{2,25}):(?!//)\s*(.*)", re.IGNORECASE | re.DOTALL)

FORMS = {
    "hello {name}": "you say it in the chat of your stream, and it answers, as it is named",
    "ada: hello @{name}": "Ada says it, who is a moderator; any name will do. @{name} mentions it",
    "ada: > really?": "she replies to what it said last",
    "ada: !{id} privacy": "a command of the chat; `!{id} help` lists them",
    "ada: /cheer 100 hooray": "she gives bits; also /follow, /sub, /resub 7, /gift 3, /raid 42, /redeem Hydrate: now",
    "/timeout ben 60": "what moderators do; also /delete ben, /ban ben, /unban ben, /clear, and /ads 30",
    "/slow 10": "a mode of the chat; also /followers 5, /subscribers, /emoteonly, /uniquechat; `/slow off` ends it",
    "/drop": "trouble: the connection is cut; also /reconnect, /silence, /expire",
}
"""What can be typed, and what that does."""


class TwitchDemo:
    """What is typed becomes something that somebody does, and what the familiar does becomes a line."""

    def __init__(self, host: PlatformHost, say: Callable[[str], None]) -> None:
        self._host = host
        self._say = say
        self._server = TwitchServer(Viewer(CHANNEL_ID, CHANNEL, "You"))
        room = self._server.room
        for login, user_id in RESIDENTS.items():
            room.viewer(login, user_id)
        self._familiar = room.viewer(_login(host.familiar_id), FAMILIAR_ID, host.name)
        room.viewers[YOU] = room.streamer
        room.viewer("ada").is_moderator = self._familiar.is_moderator = True
        self._stream = Stream(self._server, say)
        self._newest: dict[str, str] = {}
        self._asked: set[str] = set()
        """Commands whose answer is still to come."""
        self._server.follow(self._show, self._show_dropped)

    @property
    def forms(self) -> Mapping[str, str]:
        own = self._host.familiar_id
        return {form.replace("{id}", own): says.replace("{id}", own) for form, says in FORMS.items()}

    @property
    def channels(self) -> Mapping[str, int | None]:
        return {CHANNEL_ID: None}

    @property
    def room(self) -> str:
        return f"#{CHANNEL}"

    @property
    def newest(self) -> Mapping[str, str]:
        return self._newest

    async def run(self) -> None:
        async with self._server as server:
            you, familiar = server.room.streamer, self._familiar
            await TwitchPlatform(
                self._host,
                speaker=self._credentials(familiar, CHAT_RIGHTS, SPEAKER_TOKEN),
                broadcaster=self._credentials(you, STREAMER_RIGHTS, BROADCASTER_TOKEN),
                addresses=server.addresses,
                channel=CHANNEL,
            ).run()

    def _credentials(self, viewer: Viewer, rights: tuple[str, ...], name: str) -> Credentials:
        token, refresh = self._server.tokens.issue(viewer.id, viewer.login, rights)
        return Credentials(client_id=CLIENT_ID, token=token, name=name, refresh_token=refresh)

    async def wait_until_ready(self) -> None:
        await self._server.until_listening(within_s=None)

    async def wait_until_answered(self) -> None:
        with suppress(TimeoutError):  # who asks too often, or is ignored, is not answered
            await self._server.until(lambda: not self._asked, within_s=ANSWERED_WITHIN_S)
        self._asked.clear()

    # What people do

    async def take(self, line: str) -> None:
        found = _SAID_BY.fullmatch(line)
        viewer, words = self._server.room.streamer, line
        if found is not None:
            words = found[2].strip()
            viewer = self._server.room.viewer(found[1])
        if viewer is self._familiar:
            self._say(f"{viewer.name} speaks for itself.")
        elif not words:
            self._say(f"Say what {viewer.name} says: `{viewer.login}: hello`.")
        elif words.startswith("/"):
            await self._act(viewer, words[1:])
        else:
            await self._chat(viewer, words)

    async def _act(self, viewer: Viewer, words: str) -> None:
        name, _, rest = words.partition(" ")
        act = ACTS.get(name.lower())
        if act is None:
            self._say(f"There is no /{name} here. There are {', '.join(f'/{each}' for each in ACTS)}.")
        elif act.is_for_moderators and not self._server.room.is_in_charge(viewer):
            self._say(f"({viewer.name} is not a moderator, so that was not done.)")
        else:
            await act.do(self._stream, viewer, rest.strip())
            if self._server.sessions.newest_event is not None:
                self._newest[CHANNEL_ID] = f"{EVENT_ID}{self._server.sessions.newest_event}"

    async def _chat(self, viewer: Viewer, words: str) -> None:
        room, last = self._server.room, None
        if words.startswith(REPLY):
            words = words.removeprefix(REPLY).strip()
            last = next((line for line in reversed(room.lines) if line.viewer is self._familiar), None)
            if last is None:
                self._say(f"{self._host.name} has said nothing yet that could be replied to.")
                return
        text = re.sub(f"@{re.escape(self._host.name)}", f"@{self._familiar.login}", words, flags=re.IGNORECASE)
        line_id = await self._server.chat(viewer, text, to=last)
        if line_id is None and (refused := self._server.refused_last) is not None:
            self._say(f"(Nobody is shown that: {refused.message} [{refused.code}])")
        elif line_id is not None and text.startswith("!"):
            self._asked.add(line_id)
        elif line_id is not None:
            self._newest[CHANNEL_ID] = line_id

    # What the familiar does

    def _show(self, line: SentLine) -> None:
        parent = self._server.room.find_line(line.parent_id)
        to = f" (to {parent.viewer.name})" if parent is not None else ""
        self._asked.discard(line.parent_id or "")
        self._say(f"{self._host.name}{to}: {line.text}")

    def _show_dropped(self, text: str, reason: DropReason) -> None:
        self._say(f"(Nobody is shown what {self._host.name} said: {reason.message} [{reason.code}])")


def _login(familiar_id: str) -> str:
    """What the familiar's account is called: letters, digits and underscores alone."""
    return re.sub(r"\W", "_", familiar_id.lower(), flags=re.ASCII) + "_bot"
