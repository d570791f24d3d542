"""What becomes of a request that fails for a reason of ours: a sentence for the visitor, one line for the owner."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from familiar_connect.errors import FamiliarError
from familiar_connect.platforms.web.render import answer_json, is_script

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from familiar_connect.support.http_server.checks import AsgiApp, Receive, Scope, Send

logger = logging.getLogger(__name__)

NOT_SHOWN = "The program could not show this page. Its log says why."


async def answer_failure(request: Request, failure: Exception) -> Response:
    """The sentence that stands in place of the page: the one that tells of a trouble may be what failed."""
    from starlette.responses import PlainTextResponse

    sentence = str(failure) if isinstance(failure, FamiliarError) else NOT_SHOWN
    if is_script(request):
        return answer_json({"problem": sentence}, status=500)
    return PlainTextResponse(f"{sentence}\n", status_code=500)


class FailureLog:
    """Logs the failure of a request in one line; the server would print a traceback."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:
            logger.exception("a request of the page failed", extra={"path": scope.get("path", "")})
