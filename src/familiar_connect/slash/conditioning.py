"""/reward and /punish: telling the familiar what to do more or less of."""

from __future__ import annotations

from familiar_connect.familiar import Familiar
from familiar_connect.memory.conditioning import ACTIONS, MAX_REASON, FeedbackKind
from familiar_connect.slash.command import SlashCommand, SlashContext, SlashHandler, SlashOption, SlashReply
from familiar_connect.support.aio import off_loop


def _note_handler(kind: FeedbackKind) -> SlashHandler:
    async def note(ctx: SlashContext, familiar: Familiar) -> SlashReply:
        action, _, reason = ctx.words.strip().partition(" ")
        if action not in ACTIONS[kind]:
            return SlashReply(text=f"Say /{kind} with one of: {', '.join(ACTIONS[kind])}; then why.")
        if len(reason.strip()) > MAX_REASON:
            return SlashReply(text=f"A reason has at most {MAX_REASON} characters; that one has {len(reason)}.")
        if familiar.stores.privacy.is_full(ctx.author):
            return SlashReply(text="Your privacy is full, so I keep nothing you do. See /privacy.")
        if ctx.guild_id is None:
            return SlashReply(text=f"/{kind} works on a server only: what I learn there stays there.")
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
        why = f" for: {reason.strip()}" if reason.strip() else ". I cannot learn from it without a reason"
        return SlashReply(
            text=f"{familiar.name} was {past}{why}." + (f" That makes {times} times." if times > 1 else "")
        )

    return note


def _command(kind: FeedbackKind, description: str) -> SlashCommand:
    return SlashCommand(
        name=kind,
        description=description,
        run=_note_handler(kind),
        options=(
            SlashOption(name="action", description="How.", required=True, choices=tuple(ACTIONS[kind])),
            SlashOption(name="reason", description="What for."),
        ),
        servers_only=True,
    )


REWARD = _command("reward", "Reward me for something I did well.")
PUNISH = _command("punish", "Scold me for something I should not do.")
