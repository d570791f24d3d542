"""/reward and /punish: telling the familiar what to do more or less of."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.memory.conditioning import ACTIONS, MAX_REASON, FeedbackKind
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashHandler, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop
from familiar_connect.support.translate import later, tr


def _note_handler(kind: FeedbackKind) -> SlashHandler:
    async def note(ctx: SlashContext, familiar: Familiar) -> SlashReply:
        action, _, reason = ctx.words.strip().partition(" ")
        if action not in ACTIONS[kind]:
            return SlashReply(
                text=tr("Say /{kind} with one of: {actions}; then why.").format(
                    kind=kind, actions=", ".join(ACTIONS[kind])
                )
            )
        if len(reason.strip()) > MAX_REASON:
            return SlashReply(
                text=tr("A reason has at most {max_reason} characters; that one has {count}.").format(
                    max_reason=MAX_REASON, count=len(reason)
                )
            )
        if familiar.stores.privacy.is_full(ctx.author):
            return SlashReply(text=tr("Your privacy is full, so I keep nothing you do. See /privacy."))
        if ctx.guild_id is None:
            return SlashReply(
                text=tr("/{kind} works on a server only: what I learn there stays there.").format(kind=kind)
            )
        times = await off_loop(
            familiar.stores.conditioning.note,
            kind,
            action,
            reason,
            author=ctx.author,
            server_id=ctx.guild_id,
            persona=familiar.name,
        )
        past = ACTIONS[kind][action]
        why = (
            tr(" for: {reason}").format(reason=reason.strip())
            if reason.strip()
            else tr(". I cannot learn from it without a reason")
        )
        return SlashReply(
            text=tr("{familiar} was {past}{why}.").format(familiar=familiar.name, past=past, why=why)
            + (tr(" That makes {times} times.").format(times=times) if times > 1 else "")
        )

    return note


def _command(kind: FeedbackKind, description: str) -> SlashCommand:
    return SlashCommand(
        name=kind,
        description=description,
        run=_note_handler(kind),
        options=(
            SlashOption(name="action", description=later("How."), required=True, choices=tuple(ACTIONS[kind])),
            SlashOption(name="reason", description=later("What for.")),
        ),
        servers_only=True,
    )


REWARD = _command("reward", later("Reward me for something I did well."))
PUNISH = _command("punish", later("Scold me for something I should not do."))
