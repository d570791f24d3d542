"""ServiceSockets: websockets to a speech service, for those that hear or speak while sound is on its way."""

from __future__ import annotations

from collections.abc import Mapping

from familiar_connect.errors import FamiliarError
from familiar_connect.llm.connection import Connections
from familiar_connect.voice.speech_service import SpeechService, SpeechServiceError
from familiar_connect.voice.websocket import WebSocket, WebSocketRefusedError, open_websocket

PASSING_STATUSES = (408, 425, 429)
"""Below 500: those that pass."""


class ServiceSockets:
    """Opens websockets to one service. Bound to no loop before it is used."""

    def __init__(self, service: SpeechService) -> None:
        self._service = service
        self._connections = Connections()

    async def open(self, path: str, headers: Mapping[str, str]) -> WebSocket:
        """A connection to *path* of the service; a refusal is a `SpeechServiceError`, final unless it passes.

        `WebSocketClosedError` where the service cannot be reached, `TimeoutError` where it takes too long.
        """
        self._service.check_key()
        try:
            return await open_websocket(self._connections, self._service.url(path), headers)
        except WebSocketRefusedError as error:
            problem = self._service.error_of_status(error.status, error.body)
            passes = error.status >= 500 or error.status in PASSING_STATUSES
            raise SpeechServiceError(str(problem), is_final=not passes) from error
        except FamiliarError as error:  # a proxy that cannot be used
            raise SpeechServiceError(str(error), is_final=True) from error

    async def aclose(self) -> None:
        await self._connections.close()
