"""CommandHost: the familiar's slash commands, for a network that offers commands in a way of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from familiar_connect.errors import HistoryError
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import (
    SlashCommand,
    SlashCommands,
    SlashContext,
    SlashForm,
    SlashOption,
    SlashReply,
    refusal,
    run_command,
)


class CommandHost:
    """Which commands there are, who may use one, and its use.

    Where people type a line, `PlatformHost.use_command` does all of it.
    """

    def __init__(self, familiar: Familiar, table: SlashCommands) -> None:
        self._familiar = familiar
        self._table = table

    def list_all(self) -> Sequence[SlashCommand]:
        """Every command, in the order in which they are shown."""
        return self._table.list_for(self._familiar)

    def find(self, name: str) -> SlashCommand | None:
        """The command called *name*; None: there is none any more."""
        return self._table.find(name, self._familiar)

    def list_message_actions(self) -> Sequence[SlashCommand]:
        """What can be done to one message, each under its `message_title`."""
        return self._table.message_actions

    def find_message_action(self, name: str) -> SlashCommand | None:
        """That of a name or title; None: there is none any more."""
        return next((each for each in self._table.message_actions if name in (each.name, each.message_title)), None)

    @staticmethod
    def why_refused(wanted: SlashCommand, context: SlashContext) -> str | None:
        """Why the asker may not use a command, in a sentence; None: they may."""
        return refusal(wanted, context)

    def is_granted(self, server_id: int, *, person: str, roles: Collection[str]) -> bool:
        """Whether `/setup` let somebody use the controls of a chat on a server, by name or by a role of theirs."""
        return self._familiar.stores.control_grants.is_granted(server_id, person=person, roles=roles)

    async def is_newest_reply(self, channel_id: int, message_id: str) -> bool:
        """Whether a message of the platform is the newest reply of a channel, or a part of it."""
        controls = self._familiar.reply_path.controls
        found = await controls.find_message(channel_id, message_id)
        replies = [turn.id for turn in await controls.lines(channel_id) if turn.role == "assistant"]
        return found is not None and replies[-1:] == [found.id]

    async def run(self, wanted: SlashCommand, context: SlashContext) -> SlashReply:
        """Use a command, if the asker may; whatever goes wrong is an answer, too."""
        return await run_command(wanted, context, self._familiar)

    async def open_form(self, wanted: SlashCommand, context: SlashContext) -> SlashForm | SlashReply | None:
        """The form that the command shows before it is used, or why there is none to show; None: it has none."""
        try:
            return await wanted.form(context, self._familiar) if wanted.form is not None else None
        except HistoryError as error:
            return SlashReply(text=str(error))

    async def suggest(self, option: SlashOption, begun: str, *, is_operator: bool = False) -> list[str]:
        """What somebody who has begun to type an option may mean."""
        suggest = (option.suggest_to_operator if is_operator else None) or option.suggest
        return await suggest(self._familiar, begun) if suggest is not None else []
