"""CommandHost: the familiar's slash commands, for a network that offers commands in a way of its own."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashForm, SlashOption, SlashReply
from familiar_connect.slash.registry import commands_of, find_command, refusal, run_command


class CommandHost:
    """Which commands there are, who may use one, and its use.

    Where people type a line, `PlatformHost.use_command` does all of it.
    """

    def __init__(self, familiar: Familiar) -> None:
        self._familiar = familiar

    def list_all(self) -> Sequence[SlashCommand]:
        """Every command, in the order in which they are shown."""
        return commands_of(self._familiar)

    def find(self, name: str) -> SlashCommand | None:
        """The command called *name*; None: there is none any more."""
        return find_command(name, self._familiar)

    @staticmethod
    def why_refused(wanted: SlashCommand, context: SlashContext) -> str | None:
        """Why the asker may not use a command, in a sentence; None: they may."""
        return refusal(wanted, context)

    async def run(self, wanted: SlashCommand, context: SlashContext) -> SlashReply:
        """Use a command, if the asker may; whatever goes wrong is an answer, too."""
        return await run_command(wanted, context, self._familiar)

    async def open_form(self, wanted: SlashCommand, context: SlashContext) -> SlashForm | None:
        """The form that the command shows before it is used; None: it has none."""
        return await wanted.form(context, self._familiar) if wanted.form is not None else None

    async def suggest(self, option: SlashOption, begun: str) -> list[str]:
        """What somebody who has begun to type an option may mean."""
        return await option.suggest(self._familiar, begun) if option.suggest is not None else []
