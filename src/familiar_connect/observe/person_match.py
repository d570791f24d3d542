"""Whether plain data speaks of a person: by id, by the file named after them, or by any of their names.

Identity rests on ids, but a transcript holds names. What is asked here decides what is forgotten, so
a name anywhere in what was said is enough.
"""

from __future__ import annotations

import re

from familiar_connect.identity import Author
from familiar_connect.support.serialize import TAG
from familiar_connect.support.text import fold_name

_STRUCTURE = frozenset(
    {
        *(TAG, "role", "kind", "author_type", "author_kind", "origin", "remote_media_source_kind"),
        *("tag", "layer", "modality", "mode", "reason", "full", "platform", "mime"),
    }
)
"""Fields of our own making: a person called `user` is not meant by them."""
_SHORTEST_ID = 5
"""Shorter ids are looked for in id fields only."""
_ID_FIELDS = ("author_id", "target_id")


def mentions_person(plain: object, author: Author) -> bool:
    """Whether *author* is anywhere in *plain*."""
    return _is_found(plain, author, _words_for(author))


def _words_for(author: Author) -> re.Pattern[str]:
    """Anything a text may call *author*, as whole words."""
    words = author.all_known_names | {author.openai_name or "", author.canonical_key, author.slug}
    if len(author.user_id) >= _SHORTEST_ID:
        words.add(author.user_id)
    alternatives = "|".join(_pattern_of(word) for word in sorted({fold_name(word) for word in words} - {""}))
    # Only Latin letters and digits end a word: many scripts write names without spaces around them.
    return re.compile(rf"(?<![a-z0-9])(?:{alternatives})(?![a-z0-9])")


def _pattern_of(word: str) -> str:
    """A single letter names someone only where a name stands alone or before a colon."""
    return re.escape(word) + (r"(?=:|\Z)" if len(word) == 1 and word.isascii() else "")


def _is_found(plain: object, author: Author, words: re.Pattern[str]) -> bool:
    if isinstance(plain, str):
        return bool(words.search(fold_name(plain)))
    if isinstance(plain, list):
        return any(_is_found(inner, author, words) for inner in plain)
    if isinstance(plain, dict):
        told = [inner for key, inner in plain.items() if key not in _STRUCTURE]
        keys = [] if TAG in plain else list(plain)
        return _is_meant(plain, author) or _is_found(keys + told, author, words)
    return False


def _is_meant(plain: dict[str, object], author: Author) -> bool:
    """Whether an object names *author* by id."""
    if plain.get("platform") == author.platform and plain.get("user_id") == author.user_id:
        return True
    return any(plain.get(field) in (author.user_id, author.canonical_key) for field in _ID_FIELDS)
