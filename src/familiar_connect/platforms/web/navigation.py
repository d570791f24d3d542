"""The places of the page that its left side leads to. Pages that are not served are not listed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PageLink:
    """One place of the left side."""

    place: str
    """What a template calls itself in `place`; a number shown beside the link goes by the same name."""
    path: str
    label: str
    key: str
    """Typed after `g`."""
    icon: str
    """Its drawing in `icons.html`."""


LINKS = (
    PageLink(place="search", path="/search", label="Search", key="/", icon="search"),
    PageLink(place="turns", path="/turns", label="Turns", key="t", icon="turns"),
    PageLink(place="why", path="/why", label="Why not?", key="w", icon="why"),
    PageLink(place="memory", path="/memory", label="Memory", key="m", icon="memory"),
    PageLink(place="review", path="/review", label="Review", key="r", icon="review"),
    PageLink(place="character", path="/character", label="Character", key="c", icon="character"),
    PageLink(place="import", path="/import", label="Import", key="b", icon="import"),
    PageLink(place="rehearsals", path="/rehearsals", label="Rehearsals", key="p", icon="rehearsals"),
    PageLink(place="health", path="/health", label="Health", key="h", icon="health"),
    PageLink(place="settings", path="/settings", label="Settings", key="s", icon="settings"),
)


def list_links(paths: Collection[str]) -> list[PageLink]:
    """Those whose page is among the *paths* that are served."""
    return [link for link in LINKS if link.path in paths]
