"""Which members a client is told of: few when it comes, the others when it asks, in chunks."""

from __future__ import annotations

from collections.abc import Iterator

from familiar_connect.extensions.discord.demo.world import FakePerson, Guild, Payload

GUILD_PRESENCES = 1 << 8
CHUNK = 1_000
"""Members in one answer at most."""
MAX_BY_ID = 100
MAX_ONLINE_LIST = 75_000


def members_at_start(guild: Guild, bot: FakePerson, intents: int, large_threshold: int) -> Payload:
    """The members and presences that come with a server.

    Without the presence intent: the bot itself and who is in a voice channel. On a server of more than
    *large_threshold* people: those, and whoever is online.
    """
    always = {bot.id, *guild.in_voice}
    is_large = len(guild.people) > large_threshold or bool(guild.unlisted)
    if not intents & GUILD_PRESENCES or len(guild.people) > MAX_ONLINE_LIST:
        chosen = [person for person in guild.people.values() if person.id in always]
    elif len(guild.people) > large_threshold:
        chosen = [each for each in guild.people.values() if each.id in always or each.status != "offline"]
    else:
        chosen = list(guild.people.values())
    chosen = [person for person in chosen if person.id not in guild.unlisted]
    return {
        "large": is_large,
        "members": [guild.member(person) for person in chosen],
        "presences": [_presence(person) for person in chosen if person.status != "offline"]
        if intents & GUILD_PRESENCES
        else [],
    }


def members_chunks(guild: Guild, asked: Payload, *, may_list: bool) -> Iterator[Payload]:
    """The answer to a request for members: by ids, by the beginning of a name, or everybody."""
    people, not_found = _find_wanted(guild, asked, may_list=may_list)
    parts = [people[at : at + CHUNK] for at in range(0, len(people), CHUNK)] or [[]]
    for index, part in enumerate(parts):
        chunk: Payload = {
            "guild_id": str(guild.id),
            "members": [guild.member(person) for person in part],
            "chunk_index": index,
            "chunk_count": len(parts),
            "not_found": not_found,
        }
        if asked.get("presences"):
            chunk["presences"] = [_presence(person) for person in part if person.status != "offline"]
        yield chunk | ({"nonce": asked["nonce"]} if asked.get("nonce") else {})


def _find_wanted(guild: Guild, asked: Payload, *, may_list: bool) -> tuple[list[FakePerson], list[str]]:
    if (given := asked.get("user_ids")) is not None:
        ids = [int(each) for each in (given if isinstance(given, list) else [given])][:MAX_BY_ID]
        here = [guild.people[each] for each in ids if each in guild.people]
        return here, [str(each) for each in ids if each not in guild.people]
    query, limit = str(asked.get("query") or "").lower(), int(asked.get("limit") or 0)
    if not query and limit == 0:
        return (list(guild.people.values()) if may_list else []), []
    found = [each for each in guild.people.values() if _begins(each, query)]
    return found[: min(limit or CHUNK, 100)], []


def _begins(person: FakePerson, query: str) -> bool:
    names = (person.username, person.nick or person.display_name)
    return any(name.lower().startswith(query) for name in names)


def _presence(person: FakePerson) -> Payload:
    return {"user": {"id": str(person.id)}, "status": person.status, "activities": [], "client_status": {}}
