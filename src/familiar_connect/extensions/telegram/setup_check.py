"""ask_telegram: what `familiar doctor` tells of a bot: what Telegram itself says of it."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.api.checks import Finding, PlatformQuestion
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.secrets import ADDRESS, TOKEN
from familiar_connect.extensions.telegram.settings import Settings


async def ask_telegram(question: PlatformQuestion) -> Sequence[Finding]:
    """Whether the token is taken, who the owner is, and what the bot is shown in groups."""
    secrets, settings = question.part.secrets, question.part.settings
    client = BotClient(secrets[TOKEN], secrets.get(ADDRESS))
    async with client.open():
        name, hears_all, can_join = client.username, *_rights_of(client)
    found = [Finding("ok", f"@{name} is the bot; https://t.me/{name} opens a chat with it")]
    if isinstance(settings, Settings) and settings.owner is None:
        found.append(Finding("warn", f"nobody is its owner: write to @{name}, and put the id it tells you in `owner`"))
    if isinstance(settings, Settings) and settings.groups != "off":
        if not can_join:
            found.append(Finding("warn", "nobody can add it to a group: /setjoingroups of @BotFather changes that"))
        elif not hears_all:
            says = "in groups it is shown only what mentions or answers it: /setprivacy of @BotFather changes that"
            found.append(Finding("warn", f"privacy mode is on, so {says}"))
    return found


def _rights_of(client: BotClient) -> tuple[bool, bool]:
    """Whether it hears all that is said in groups, and whether it can be added to one."""
    me = client.me
    return bool(me.can_read_all_group_messages), bool(me.can_join_groups)
