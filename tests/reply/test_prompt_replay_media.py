"""Past turns with pictures and first words, made anew as one model was shown them."""

from __future__ import annotations

import pytest

from familiar_connect.chat.directives import place_tail
from familiar_connect.chat.types import Directives, MediaDescriptor
from familiar_connect.context.generate import Generation
from familiar_connect.context.media import MediaCache
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, TextPart
from familiar_connect.reply.prompt_replay import Fitting, infer_fitting
from familiar_connect.support.fetch.client import FetchLimits, FetchResult
from familiar_connect.support.serialize import from_plain, to_plain
from tests.fakes.context import said
from tests.fakes.file_server import PNG


class Pictures:
    async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult:
        return FetchResult(PNG, "image/png")


def showing(role: str, text: str, id_: int) -> ContextItem:
    media = (MediaDescriptor(kind="image", uri=f"http://x/{id_}.png", mime="image/png", media_id=f"media_{id_}"),)
    parts = (TextPart(text),)
    return ContextItem(
        role="user" if role == "user" else "assistant",
        parts=parts,
        tag=ItemTag.DIALOGUE,
        media=media,
        message_id=str(id_),
        source="history:recent",
    )


BASE = place_tail(
    Prompt(
        items=(
            ContextItem.of("system", "top"),
            said("user", "o" * 900),
            showing("assistant", "Here.", 1),
            showing("user", "Ada: look " + "x" * 700, 2),
            said("assistant", "Nice."),
            showing("user", "Ada: and this", 3),
        ),
        directives=Directives(tail=("be brief",), prefill="Well,"),
    )
)


@pytest.mark.parametrize(
    "capabilities",
    [
        Capabilities(),
        Capabilities(vision=True),
        Capabilities(vision=True, prefill=False),
        Capabilities(strict_roles=True),
        Capabilities(vision=True, strict_roles=True, prefill=False),
        Capabilities(window=500, max_output=100),
        Capabilities(vision=True, window=200, max_output=50),
        Capabilities(bare_single_speaker=True),
    ],
    ids=str,
)
async def test_a_turn_with_pictures_is_made_anew_exactly(capabilities: Capabilities) -> None:
    """For a model that sees and one that does not, whatever had to go; kept as plain data in between."""
    generation = Generation(BASE, [ScriptedModel(["ok"], capabilities=capabilities)], media=MediaCache(Pictures()))
    _ = [piece async for piece in generation.pieces()]
    kept = to_plain(infer_fitting(BASE.items, generation.prompt.items, generation.messages))

    assert from_plain(Fitting, kept).apply(BASE.items) == generation.messages
    assert "base64" not in str(kept)
