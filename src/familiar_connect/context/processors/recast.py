"""RecastPostProcessor: a side model cleans up the reply, or rewrites it for speech.

Its failure costs nothing: the original reply goes out.
"""

from __future__ import annotations

import asyncio
import logging

from familiar_connect.context.processors.output_filter import without_markup
from familiar_connect.context.types import ContextRequest, Modality
from familiar_connect.llm.protocols import SideModel
from familiar_connect.llm.types import Message, capabilities_of

logger = logging.getLogger(__name__)

DEFAULT_PROCESSOR_TIMEOUT_S = 9.0


class RecastPostProcessor:
    """One side call over the finished reply."""

    id = "recast"

    def __init__(self, *, llm_client: SideModel, processor_timeout_s: float = DEFAULT_PROCESSOR_TIMEOUT_S) -> None:
        self.llm_client = llm_client
        self._timeout_s = processor_timeout_s

    async def process(self, reply_text: str, request: ContextRequest) -> str:
        if not capabilities_of(self.llm_client).side_tasks or not reply_text.strip():
            return reply_text
        prompt = recast_prompt(reply_text, request.modality)
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await self.llm_client.chat([Message(role="user", content=prompt)])
        except Exception as error:  # isolation: the reply is worth more than its polish
            logger.warning("recast failed", extra={"error": type(error).__name__})
            return reply_text
        words = (getattr(reply, "content", None) or "").strip().removeprefix("<reply>").removesuffix("</reply>")
        return without_markup(words).strip() or reply_text


def recast_prompt(reply_text: str, modality: Modality) -> str:
    if modality is Modality.voice:
        task = "Rewrite the reply below as spoken text: no markup, no lists, no emojis, easy to say aloud."
    else:
        task = "Clean up the reply below: remove stray formatting and repetition, keep voice, meaning and length."
    return f"{task} Return the rewritten text only.\n\n<reply>\n{reply_text}\n</reply>"
