"""Where the bot's token goes: to Telegram, to this machine, and elsewhere only where the owner's own file says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.extensions.telegram.secrets import ADDRESS

if TYPE_CHECKING:  # whoever only asks what is missing loads no more than this
    from familiar_connect.api import PartContext

ORIGIN = "https://api.telegram.org"


def list_hosts(context: PartContext) -> tuple[str, ...]:
    """Every host that is contacted, which a Bot API server of one's own is alone."""
    address = context.secrets.get(ADDRESS)
    if address is None:
        return (ORIGIN,)
    from familiar_connect.api.support import origin_of  # whoever goes to Telegram itself loads none of it

    return (origin_of(address),)


def why_not_sent(context: PartContext) -> str | None:
    """Why the bot's token does not go to the address that the owner or the environment names; None: it may."""
    address, file = context.secrets.get(ADDRESS), context.secrets_file
    if address is None:
        return None
    from familiar_connect.api.support import is_this_machine, may_carry_key, origin_of  # as above

    if is_this_machine(address):
        return None
    try:
        origin = origin_of(address)
    except ValueError:
        return f"{ADDRESS} is not an address; write https:// and a host, or remove it from {file}"
    if not may_carry_key(address):
        return f"{ADDRESS} would send the bot's token to {origin} over plain http://; use https://"
    if origin != ORIGIN and ADDRESS not in context.secrets_of_home:
        return (
            f"{ADDRESS} in the environment would send the bot's token to {origin}; "
            f"if that is meant, put that line into {file}"
        )
    return None
