"""OpenedFamiliars: the familiars of a home, each opened when it is first asked for and kept until the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from familiar_connect.api import PlatformHost
from familiar_connect.api.support import KeyedLocks, fold_name
from familiar_connect.extensions.serve.chat_request import RefusedRequest
from familiar_connect.extensions.serve.chats import ServedChats
from familiar_connect.extensions.serve.keys import KeyBook


class OpenedFamiliars:
    """Use as `async with`; at the end they are closed."""

    def __init__(
        self,
        list_names: Callable[[], Sequence[str]],
        open_familiar: Callable[[str], AbstractAsyncContextManager[PlatformHost]],
        keys: KeyBook,
        *,
        note_tokens: int,
    ) -> None:
        self._list_names = list_names
        self._open = open_familiar
        self._keys = keys
        self._note_tokens = note_tokens
        self._stack = AsyncExitStack()
        self._locks = KeyedLocks()
        self._chats: dict[str, ServedChats] = {}

    async def __aenter__(self) -> OpenedFamiliars:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def names(self) -> Sequence[str]:
        """The familiars there are, open or not."""
        return await asyncio.to_thread(self._list_names)

    async def chats(self, model: str) -> ServedChats:
        """The chats of the familiar called *model*, which is opened where it is not."""
        names = await self.names()
        name = next((each for each in names if fold_name(each) == fold_name(model)), None)
        if name is None:
            raise RefusedRequest(
                f"there is no familiar called {model[:80]!r}; there are: {', '.join(names) or 'none'}",
                status=404,
                code="model_not_found",
            )
        async with self._locks.lock(name):
            if name not in self._chats:
                host = await self._stack.enter_async_context(self._open(name))
                self._stack.enter_context(
                    host.connect(_find_nowhere, is_owner=lambda author: self._is_owner(author.user_id))
                )
                self._chats[name] = ServedChats(host, note_tokens=self._note_tokens)
            return self._chats[name]

    def _is_owner(self, user_id: str) -> bool:
        return any(key.is_owner and key.person_id == user_id for key in self._keys.all())


async def _find_nowhere(_: str) -> None:
    """Nobody listens here between two requests."""
