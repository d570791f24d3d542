"""/privacy: what the asker allows to be kept of them. Everyone may, for themselves."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop

MEANING = {
    PrivacyLevel.MINIMAL: "everything you say to me may be kept and remembered",
    PrivacyLevel.PARTIAL: "what you say is heard, but your presence, your roles and notes about you are left out",
    PrivacyLevel.FULL: (
        "you are not heard at all: nothing you say is stored, shown or answered, and what you said before is taken back"
    ),
}


OWNER_HEARS_ALL = "My owner reads along: what you write to me in a direct message may be told to my owner, too."
OWNER_DOES_NOT_HEAR = "What you write to me in a direct message is told to nobody else; it lies on my owner's disk."


async def run_privacy(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    registry = familiar.stores.privacy
    word = ctx.words.strip().lower()
    if not word:
        level = registry.get(ctx.author)
        owner = OWNER_HEARS_ALL if familiar.config.owner_hears_all else OWNER_DOES_NOT_HEAR
        others = "\n".join(f"/privacy {each.value}: {meaning}." for each, meaning in MEANING.items())
        return SlashReply(text=f"Your privacy is {level.value}: {MEANING[level]}.\n{others}\n{owner}")
    wanted = next((level for level in PrivacyLevel if level.value == word), None)
    if wanted is None:
        return SlashReply(text=f"There is no such level; say {', '.join(level.value for level in PrivacyLevel)}.")
    await off_loop(registry.set, ctx.author, wanted)
    if wanted is PrivacyLevel.FULL:
        await familiar.reply_path.message_edits.on_full_privacy(ctx.author)
    return SlashReply(text=f"Your privacy is {wanted.value} now: {MEANING[wanted]}.")


async def run_remember_everywhere(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    registry = familiar.stores.privacy
    word = ctx.words.strip().lower() or "on"
    if word not in ("on", "off"):
        return SlashReply(text="Say on or off.")
    await off_loop(registry.set_everywhere, ctx.author, follows=word == "on")
    if word == "off":
        return SlashReply(text="What you say on a server stays on that server.")
    return SlashReply(text="What you yourself say on one server I may now recall with you on others, too.")


REMEMBER_EVERYWHERE = SlashCommand(
    name="remember-me-everywhere",
    description="Let me recall on every server what you yourself said on one.",
    run=run_remember_everywhere,
    options=(SlashOption(name="choice", description="On or off.", choices=("on", "off")),),
    servers_only=True,
)

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
