"""GroupTerminal: one person and several familiars at a terminal, who take turns.

What anybody says is heard by everybody, each in its own history; who answers is for `conversation.groups` to say.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from familiar_connect.conversation.groups.roster import GroupRoster
from familiar_connect.conversation.groups.rounds import GroupRounds
from familiar_connect.conversation.groups.turn_order import TurnRules
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.errors import FamiliarError
from familiar_connect.history.types import HistoryTurn
from familiar_connect.platforms.group_talk import (
    FOR_ONE_ALONE,
    GROUP_COMMANDS,
    greeting_in_group,
    name_line_of,
    name_line_of_person,
)
from familiar_connect.platforms.group_verbs import FOR_EVERYBODY, use_group_verb
from familiar_connect.platforms.terminal.adapter import EXIT_FAILED, TerminalPlatform
from familiar_connect.platforms.terminal.group_controls import TerminalGroupControls
from familiar_connect.platforms.terminal.group_member import GroupMember
from familiar_connect.platforms.terminal.line_input import LineReader
from familiar_connect.platforms.terminal.own_name import OwnName
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.platforms.terminal.upgrade import UpgradeOffer
from familiar_connect.platforms.terminal.welcome import keep_greeting, show_last_words
from familiar_connect.slash.registry import find_command
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.text import join_names
from familiar_connect.support.translate import tr


class GroupTerminal(TerminalPlatform):
    """Slash commands are about the member who spoke last, before anybody has about the first."""

    _more_commands = MappingProxyType({**GROUP_COMMANDS, **FOR_EVERYBODY})

    def __init__(
        self,
        members: Sequence[GroupMember],
        roster: GroupRoster,
        rules: TurnRules,
        *,
        screen: Screen,
        reader: LineReader,
        rng: random.Random,
        clock: Clock | None = None,
        own_name: OwnName | None = None,
        upgrade: UpgradeOffer | None = None,
    ) -> None:
        first = members[0]
        super().__init__(
            first.familiar,
            user=first.user,
            screen=screen,
            reader=reader,
            clock=clock,
            own_name=own_name,
            channel_id=first.channel_id,
            place=first.place,
            upgrade=upgrade,
        )
        self._members = {member.id: member for member in members}
        self._roster = roster
        self._rounds = GroupRounds(roster, rules, self._let_speak, rng=rng, is_over=self._leaving.is_set)

    @contextmanager
    def _reachable_owner(self) -> Iterator[None]:
        with ExitStack() as stack:
            for member in self._members.values():
                stack.enter_context(member.familiar.owner.connect(tell=self._tell_owner))
            yield

    # Talking

    async def greet(self, *, is_chosen: bool = False, greeting: int = 0) -> None:
        """Let everybody say their first words where nothing was ever said; else show where it was left off."""
        first = next(iter(self._members.values()))
        store = first.familiar.history_store
        if await off_loop(store.count, familiar_id=first.id, channel_id=first.channel_id):
            if not self._screen.plain:
                await show_last_words(first.familiar, self._screen, first.channel_id, first.user)
            return
        if self._screen.plain and not is_chosen:
            return
        silent = {each.id for each in self._roster.speakers if each.is_muted}
        for member in self._members.values():
            words = (
                ""
                if member.id in silent
                else await off_loop(greeting_in_group, member.familiar, member.user, self._roster, greeting)
            )
            if words:
                await member.place.send(words)
                member.place.end()
                said = await keep_greeting(words, member.familiar, member.channel_id)
                await self._tell_others(member, said)

    async def _say(self, line: str) -> None:
        now, notices = self._clock.now(), self._count_notices()
        name = name_line_of_person(secrets.token_hex(16))
        heard = [await member.hear(line, now, message_id=name) for member in self._members.values()]
        if all(each is IntakeResult.private for each in heard):
            self._screen.note(tr("Your privacy level is full, so I did not hear that. `privacy.toml` sets it."))
            return
        self._rounds.note_person(line)
        if not await self._rounds.hold(is_from_person=True) and not self._rounds.is_cut:
            self._note_silence(notices)

    def _note_silence(self, notices: int) -> None:
        if self._count_notices() > notices:
            self.exit_code = EXIT_FAILED
        elif len(self._roster.silent_names) == len(self._members):
            self._screen.note(tr("(Everyone is muted. /unmute NAME lets one of them speak.)"))
        elif self._rounds.waits_to_be_asked:
            self._screen.note(tr("(/speak NAME lets one of them answer, /speak anyone.)"))
        else:
            self._screen.note(tr("(No one said anything. Try saying it differently.)"))

    def _count_notices(self) -> int:
        return sum(member.place.notices for member in self._members.values())

    async def _let_speak(self, id_: str, unasked: bool) -> str:
        member = self._members[id_]
        self._familiar, self._place, self._channel_id = member.familiar, member.place, member.channel_id
        said = await member.speak(unasked=unasked)
        if said is None:
            return ""
        await self._tell_others(member, said)
        return said.display_text

    async def _tell_others(self, speaker: GroupMember, said: HistoryTurn) -> None:
        """Everybody else hears it as the words of somebody with a name."""
        now = self._clock.now()
        for member in self._members.values():
            if member is not speaker:
                await member.hear(
                    said.display_text, now, author=speaker.as_author, message_id=name_line_of(speaker.id, said.id)
                )

    async def _end_reply(self) -> bool:
        self._rounds.cut()
        return await super()._end_reply()

    def _rename(self, name: str) -> None:
        super()._rename(name)
        for member in self._members.values():
            member.rename_user(name)

    # Commands of a group

    async def _change_lines(self, name: str, words: str) -> None:
        """Use a control of the chat for every member."""
        here = self._members[self._familiar.id]
        controls = TerminalGroupControls(self._members, here, answer=lambda: self._rounds.hold(is_from_person=True))
        try:
            told = await use_group_verb(name, words, here.channel_id, controls)
        except FamiliarError as error:
            told = str(error)
        here.place.end()
        if told:
            self._screen.line(told)

    async def _slash(self, name: str, words: str) -> None:
        if name in FOR_ONE_ALONE and find_command(name) is not None:
            self._screen.note(tr("/{name} works in a chat with one familiar, not in a group.").format(name=name))
        elif name in FOR_EVERYBODY:
            await self._change_lines(name, words)
        elif name not in GROUP_COMMANDS:
            await super()._slash(name, words)
        elif name == "speak" and not words.strip():
            await self._rounds.hold(is_from_person=False)
        elif name == "mute" and not words.strip():
            muted = self._roster.silent_names
            self._screen.line(
                tr("Only listening: {names}.").format(names=", ".join(muted))
                if muted
                else tr("No one is muted. /mute NAME mutes someone.")
            )
        elif (id_ := self._roster.find(words)) is None:
            self._screen.note(
                tr("Nobody here is called {name}; there are {names}.").format(
                    name=words.strip() or tr("that"), names=join_names(self._roster.names)
                )
            )
        elif name == "speak":
            if not await self._rounds.let_speak(id_, unasked=True):
                self._screen.note(
                    tr("({name_of} has nothing to say. Say something first.)").format(name_of=self._roster.name_of(id_))
                )
        else:
            self._roster.set_muted(id_, is_muted=name == "mute")
            does = tr("only listens") if name == "mute" else tr("speaks again")
            self._screen.line(f"{self._roster.name_of(id_)} {does}.")
