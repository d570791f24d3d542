"""RegexPostProcessor: the reply as the regex scripts in force have it kept."""

from __future__ import annotations

from familiar_connect.context.types import ContextRequest
from familiar_connect.presets.regex_scripts import rewrite_reply
from familiar_connect.support.aio import off_loop


class RegexPostProcessor:
    """Runs the scripts of the request over a whole reply; in a thread, for a text may be long."""

    id = "regex"
    makes_view = True

    async def process(self, reply_text: str, request: ContextRequest) -> str:
        return await off_loop(rewrite_reply, reply_text, request)
