"""/privacy: what the asker allows to be kept of them. Everyone may, for themselves."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.identity import PrivacyLevel
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr

MEANING = {
    PrivacyLevel.MINIMAL: later("I may keep and remember everything you say to me"),
    PrivacyLevel.PARTIAL: later("I hear what you say, but leave out your presence, your roles and notes about you"),
    PrivacyLevel.FULL: (
        later("I do not hear you at all: I store, show and answer nothing you say, and what you said before is removed")
    ),
}
SHARED = {
    PrivacyLevel.MINIMAL: later("You share everything with me"),
    PrivacyLevel.PARTIAL: later("You share only your words with me"),
    PrivacyLevel.FULL: later("You share nothing with me"),
}
OWNER_HEARS_ALL = later("My owner can read along: I may pass on to my owner what you write to me in a direct message.")
OWNER_DOES_NOT_HEAR = later(
    "I tell no one else what you write to me in a direct message; it is stored on my owner's computer."
)


async def run_privacy(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    registry = familiar.stores.privacy
    word = ctx.words.strip().lower()
    if not word:
        level = registry.get(ctx.author)
        owner = tr(OWNER_HEARS_ALL) if familiar.config.owner_hears_all else tr(OWNER_DOES_NOT_HEAR)
        others = "\n".join(
            tr("/privacy {each}: {meaning}.").format(each=each.value, meaning=tr(meaning))
            for each, meaning in MEANING.items()
        )
        return SlashReply(text=f"{_describe(level)}\n{others}\n{owner}")
    wanted = next((level for level in PrivacyLevel if level.value == word), None)
    if wanted is None:
        return SlashReply(
            text=tr("There is no such level; say {levels}.").format(
                levels=", ".join(level.value for level in PrivacyLevel)
            )
        )
    await off_loop(registry.set, ctx.author, wanted)
    if wanted is PrivacyLevel.FULL:
        await familiar.reply_path.message_edits.on_full_privacy(ctx.author)
    return SlashReply(text=_describe(wanted))


def _describe(level: PrivacyLevel) -> str:
    return tr("{shared} (privacy: {level}). {meaning}.").format(
        shared=tr(SHARED[level]), level=level.value, meaning=tr(MEANING[level])
    )


async def run_remember_everywhere(ctx: SlashContext, familiar: Familiar) -> SlashReply:
    registry = familiar.stores.privacy
    word = ctx.words.strip().lower() or "on"
    if word not in ("on", "off"):
        return SlashReply(text=tr("Say on or off."))
    await off_loop(registry.set_everywhere, ctx.author, follows=word == "on")
    if word == "off":
        return SlashReply(text=tr("What you say on a server stays on that server."))
    return SlashReply(text=tr("I may now recall with you on other servers what you say on one."))


REMEMBER_EVERYWHERE = SlashCommand(
    name="remember-me-everywhere",
    description=later("Let me recall on every server what you said on one."),
    run=run_remember_everywhere,
    options=(SlashOption(name="choice", description=later("On or off."), choices=("on", "off")),),
    servers_only=True,
)

PRIVACY = SlashCommand(
    name="privacy",
    description=later("See or choose what I may keep about you."),
    run=run_privacy,
    options=(
        SlashOption(
            name="level", description=later("Your privacy level."), choices=tuple(level.value for level in PrivacyLevel)
        ),
    ),
)
