"""Discord's people as authors. A name that shows nothing on screen is no name."""

from __future__ import annotations

from typing import Any

from familiar_connect.api import Author, Scene
from familiar_connect.api.support import has_visible


def author_of(person: Any) -> Author:
    """A user or member, under the names that can be seen."""
    return Author("discord", str(person.id), visible_name(person.name), visible_name(person.display_name))


def roles_of(person: Any) -> tuple[str, ...]:
    """The roles of a member, each by its id and by its name; a user without a server has none."""
    roles = [role for role in getattr(person, "roles", ()) if not role.is_default()]
    return tuple(each for role in roles for each in (str(role.id), str(role.name)))


def visible_name(name: str | None) -> str | None:
    """*name* if anything of it can be seen, else None."""
    return name if name is not None and has_visible(name) else None


def people_of(channel: Any) -> list[Any]:
    """The people of a direct or group message, besides us."""
    recipients = list(getattr(channel, "recipients", None) or ())
    single = getattr(channel, "recipient", None)
    return recipients or ([single] if single is not None else [])


def find_people_in(scene: Scene, channel: Any) -> dict[int, str]:
    """The people of a direct or group message by id, with their canonical keys.

    Where somebody wrote first the library does not know with whom a direct message is: then it is who spoke in it.
    """
    known = {person.id: author_of(person).canonical_key for person in people_of(channel)}
    if known or getattr(channel.type, "name", "") != "private":
        return known
    spoke = {each.canonical_key: each for each in scene.participants if each != scene.me}
    if len(spoke) != 1:
        return {}
    return {
        int(each.user_id): key for key, each in spoke.items() if each.platform == "discord" and each.user_id.isdigit()
    }


def learn_recipient(message: Any) -> None:
    """Let a direct message know whom it is with: the library tells that of one it has opened, not of one that came in.

    Whoever else writes in it is that person. *message* is none of ours.
    """
    channel = message.channel
    if getattr(channel.type, "name", "") == "private" and getattr(channel, "recipient", None) is None:
        channel.recipient = message.author
