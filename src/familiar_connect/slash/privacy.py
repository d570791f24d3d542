"""/privacy: what the asker allows to be kept of them. Everyone may, for themselves."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop

MEANING = {
    PrivacyLevel.MINIMAL: "everything you say to me may be kept and remembered",
    PrivacyLevel.PARTIAL: "what you say is heard, but your presence, your roles and notes about you are left out",
    PrivacyLevel.FULL: "you are not heard at all: nothing you say is stored, shown or answered",
}


async def run_privacy(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    registry = familiar.stores.privacy
    word = ctx.words.strip().lower()
    if not word:
        level = registry.get(ctx.author)
        others = "\n".join(f"/privacy {each.value}: {meaning}." for each, meaning in MEANING.items())
        return SlashReply(text=f"Your privacy is {level.value}: {MEANING[level]}.\n{others}")
    wanted = next((level for level in PrivacyLevel if level.value == word), None)
    if wanted is None:
        return SlashReply(text=f"There is no such level; say {', '.join(level.value for level in PrivacyLevel)}.")
    await off_loop(registry.set, ctx.author, wanted)
    return SlashReply(text=f"Your privacy is {wanted.value} now: {MEANING[wanted]}.")


PRIVACY = SlashCommand(
    name="privacy",
    description="See or choose what I may keep of you.",
    run=run_privacy,
    options=(
        SlashOption(
            name="level", description="How private you are.", choices=tuple(level.value for level in PrivacyLevel)
        ),
    ),
)
