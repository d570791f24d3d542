"""UpgradeOffer: offers a better model in a running chat, fetches it when asked, and says when it has taken over.

Nothing is fetched before the person asks for it, and the chat goes on meanwhile. What fails is one sentence; the small
model then goes on answering.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from familiar_connect.errors import FamiliarError
from familiar_connect.llm.upgrade.describe import describe_taken_over, describe_upgrade
from familiar_connect.llm.upgrade.getter import GetProgress, ModelGetter, is_unreachable
from familiar_connect.llm.upgrade.offers import Upgrade, UpgradeFinder
from familiar_connect.support.aio import BackgroundTasks
from familiar_connect.support.translate import later, tr

KEY, KEY_NAME = "c-g", "Ctrl-G"
REFUSE = later("To stop these offers, type /upgrade never.")
NO_UPGRADE = later("I know no better model for this computer. `familiar connect` connects a server.")
IN_PROGRESS = later("A better model is already on its way.")


class UpgradeOffer:
    """The offer of one chat."""

    def __init__(
        self,
        finder: UpgradeFinder,
        *,
        home: Path,
        adopt: Callable[[Upgrade], Awaitable[None]],
        keep_asking: Callable[[bool], Awaitable[None]],
        note: Callable[[str], None],
        show_status: Callable[[str], None],
    ) -> None:
        """*adopt* lets a model that is here answer, *keep_asking* keeps whether later chats offer one."""
        self._finder = finder
        self._getter = ModelGetter(finder, home=home, adopt=adopt, show=self._show_progress)
        self._keep_asking = keep_asking
        self._note = note
        self._show_status = show_status
        self._offered: Upgrade | None = None
        self._is_busy = False
        self._background = BackgroundTasks("upgrade")

    def start(self, after: Awaitable[object]) -> None:
        """Look for a better model once *after* is over, and offer it."""
        self._background.start(self._offer_after(after), name="offer")

    def accept(self) -> None:
        """The key was pressed: get what is offered; nothing where nothing is."""
        if self._offered is not None and not self._is_busy:
            upgrade, self._offered, self._is_busy = self._offered, None, True
            self._background.start(self._get(upgrade), name="get")

    async def answer(self, words: str) -> None:
        """`/upgrade`: offer again; `yes`, `no`, `never`, `ask`, or the name of a model of the server."""
        wish = words.strip().lower()
        if wish == "never":
            self._offered = None
            await self._keep_asking(False)
            self._note(tr("I will not offer a better model again. /upgrade ask turns the offer back on."))
        elif wish == "no":
            self._offered = None
            self._note(tr("Not now, then. /upgrade shows the offer again."))
        elif self._is_busy:
            progress = self._getter.progress()
            self._note(tr(IN_PROGRESS) if progress is None else progress.text)
        elif wish in ("", "ask"):
            if wish:
                await self._keep_asking(True)
            await self._offer(tells_none=True)
        else:
            await self._accept_words(words.strip())

    async def _accept_words(self, words: str) -> None:
        if self._offered is None:
            self._offered = await self._finder.find()
        offered = self._offered
        if offered is None:
            self._note(tr(NO_UPGRADE))
        elif words.lower() in ("y", "yes"):
            self.accept()
        elif offered.server is not None and words in offered.server.models:
            self._offered = replace(offered, name=words)
            self.accept()
        else:
            self._note(tr("Type /upgrade yes, /upgrade no or /upgrade never."))

    async def aclose(self) -> None:
        """End what is under way; what was downloaded stays for the next chat."""
        was_downloading = self._getter.is_downloading
        await self._background.aclose()
        if was_downloading:
            self._note(tr("The download stops here. What has arrived is kept, and the next chat offers the rest."))

    async def _offer_after(self, after: Awaitable[object]) -> None:
        await after
        with suppress(FamiliarError):  # a broken list of models: `model list` says what is wrong with it
            await self._offer()

    async def _offer(self, *, tells_none: bool = False) -> None:
        found = await self._finder.find()
        if self._is_busy:
            return
        self._offered = found
        if found is not None:
            self._note(describe_offer(found))
        elif tells_none:
            self._note(tr(NO_UPGRADE))

    async def _get(self, upgrade: Upgrade) -> None:
        try:
            if upgrade.entry is not None:
                self._note(
                    tr("Getting {upgrade}. Keep talking; it takes over when it is ready.").format(upgrade=upgrade.title)
                )
            await self._getter.get(upgrade)
        except (FamiliarError, OSError) as error:
            self._is_busy = False
            await self._tell_failure(upgrade, error)
        else:
            self._note(
                tr("{upgrade} `familiar model use embedded` goes back to the small model.").format(
                    upgrade=describe_taken_over(upgrade)
                )
            )
        finally:
            self._is_busy = False

    async def _tell_failure(self, upgrade: Upgrade, error: Exception) -> None:
        """Say why it failed; where its publisher cannot be reached, offer what can be had otherwise."""
        if not is_unreachable(error):
            self._note(tr("{error} The small model keeps answering. /upgrade tries again.").format(error=error))
            return
        self._note(
            tr("{cause}, so {upgrade} cannot be downloaded now.").format(cause=error.__cause__, upgrade=upgrade.title)
        )
        await self._offer(tells_none=True)

    def _show_progress(self, progress: GetProgress | None) -> None:
        self._show_status("" if progress is None else progress.text)


def describe_offer(upgrade: Upgrade) -> str:
    """The offer, and the key that takes it."""
    how = tr("to get it while we talk")
    if upgrade.server is not None:
        more = len(upgrade.server.models) - 1
        others = tr(", or type /upgrade NAME for one of its {more} other models").format(more=more) if more else ""
        how = tr("to have {upgrade} answer{others}").format(upgrade=upgrade.name, others=others)
    elif upgrade.entry is None:
        how = tr("to switch to it")
    elif upgrade.had_bytes:
        how = tr("to get the rest while we talk")
    return tr("{upgrade} Press {key_name} {how}. {refuse}").format(
        upgrade=describe_upgrade(upgrade), key_name=KEY_NAME, how=how, refuse=tr(REFUSE)
    )
