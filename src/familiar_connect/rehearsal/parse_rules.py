"""check_rules: whom a place of a rehearsal file lets in and shuts out, checked by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from familiar_connect.errors import ConfigError
from familiar_connect.rehearsal.platforms import has_servers, name_with_servers
from familiar_connect.rehearsal.types import EVERYBODY, PlaceSetup, RehearsalPerson
from familiar_connect.support.json_object import JsonObject

RULE_KEYS = ("except", "roles", "allow", "deny", "age_restricted")


def list_roles(people: Mapping[str, RehearsalPerson], places: Mapping[str, PlaceSetup]) -> frozenset[str]:
    """Every role that somebody has, or that a place names."""
    of_people = (role for person in people.values() for role in person.roles)
    return frozenset((*of_people, *(role for place in places.values() for role in place.roles)))


def check_rules(
    part: JsonObject, place: PlaceSetup, people: Mapping[str, RehearsalPerson], roles: Collection[str]
) -> None:
    """Refuse rules where a place can have none, and names that nobody and no role has."""
    given = [key for key in RULE_KEYS if key in part.data]
    if given and (place.is_dm or not has_servers(place.platform)):
        what = "a direct message" if place.is_dm else f"a place on {place.platform}"
        channel = f"a {name_with_servers()} channel"
        raise ConfigError(f"{part.where}: `{given[0]}` means nothing for {what}; take it out, or use {channel}")
    if given and given != ["roles"] and place.is_thread:
        raise ConfigError(
            f"{part.where}: a thread has no `{given[0]}` of its own; put it at the channel that `parent` names"
        )
    for person in part.texts("except"):
        if person not in people:
            raise ConfigError(f"{part.where}: except: there is no {person[:60]!r}; {_hint(person, people, 'people')}")
    for key in ("allow", "deny"):
        check_names(f"{part.where}: {key}", part.texts(key), people, roles)
    both = sorted({*place.allowed} & {*place.denied})
    if both:
        raise ConfigError(f"{part.where}: {both[0]} is both let in and shut out; keep the one that is meant")
    for role in sorted({*roles} & {*people, EVERYBODY}):
        raise ConfigError(f"{part.where}: {role!r} is a role and a person, or everyone; call the role something else")


def check_names(where: str, names: Iterable[str], people: Collection[str], roles: Collection[str]) -> None:
    """Refuse a name that is no person, no role and not everyone."""
    for name in names:
        if name not in people and name not in roles and name != EVERYBODY:
            hint = _hint(name, [*people, *roles, EVERYBODY], "people` or `roles")
            raise ConfigError(f"{where}: there is no {name[:60]!r}; {hint}")


def _hint(name: str, known: Collection[str], what: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else f"name it under `{what}`"
