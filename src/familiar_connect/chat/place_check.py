"""Looks over a platform's places before it starts, so that a slip in one is a sentence at the start, not a lost reply.

A misspelt method would never be called, for the default of `Place` stands in its way; mypy cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterable

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.errors import SetupError

METHODS: dict[str, tuple[str, ...]] = {
    "edits": ("post", "edit"),
    "posts_once": ("post_once", "own_posts"),
    "posts_answers": ("post_answer",),
    "tells_asker": ("tell_asker",),
    "rewrites": ("rewrite",),
    "posts_for_people": ("post_for",),
    "stickers": ("send_sticker",),
    "speaks": ("speak",),
}
"""What a place that says a feature of itself has to bring."""
CLOSE = 0.75
"""How much alike two names are, of 1, for one to be a slip of the other."""
MAX_LONGER = 2
"""Letters by which they may differ in length: one with a further word is a name of its own."""


def check_place_class(kind: type[Place]) -> None:
    """Raise a `SetupError` where *kind* cannot do what it says, or seems to have a method of `Place` misspelt."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if Place not in kind.__mro__:
        raise SetupError(f"{name} is no place: let it inherit `Place`")
    _check_spelling(kind, name)
    if lacking := sorted(kind.__abstractmethods__):
        raise SetupError(f"{name} lacks what every place has: {', '.join(lacking)}")
    features = kind.features
    if isinstance(features, PlaceFeatures):  # else each place says it for itself, and is not there yet
        _check_features(kind, features, name)


def _check_spelling(kind: type[Place], name: str) -> None:
    """Raise where a public name of the class is nearly one of ours that it leaves as it is.

    Beside a method that the class has, a name that is close to it is meant: `end` and `send`.
    """
    known = {each for each in dir(Place) if not each.startswith("_")}
    methods = {each for base in _own_classes(kind) for each, value in vars(base).items() if _is_method(value)}
    free = {each.replace("_", ""): each for each in known if not _brings(kind, each)}
    for each in sorted(methods - known):
        if not each.startswith("_") and (meant := _closest(each.lower().replace("_", ""), free)) is not None:
            raise SetupError(
                f"{name} has `{each}`, which nobody calls: a place's method is `{free[meant]}`; "
                "if it is another thing, give it a name that is less alike or begins with an underscore"
            )


def _closest(written: str, names: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    alike = [each for each in names if abs(len(each) - len(written)) <= MAX_LONGER]
    return next(iter(get_close_matches(written, alike, n=1, cutoff=CLOSE)), None)


def _is_method(value: object) -> bool:
    return callable(value) or isinstance(value, property | classmethod | staticmethod)


def _check_features(kind: type[Place], features: PlaceFeatures, name: str) -> None:
    for feature, methods in METHODS.items():
        says = bool(vars(features)[feature])
        for method in methods:
            if says and not _brings(kind, method):
                raise SetupError(f"{name} says `{feature}` among its features and has no `{method}`")
            if not says and _brings(kind, method):
                raise SetupError(f"{name} has `{method}`, which nobody calls: its features do not say `{feature}`")


def _own_classes(kind: type[Place]) -> list[type]:
    return [base for base in kind.__mro__ if base not in Place.__mro__]


def _brings(kind: type[Place], method: str) -> bool:
    """Whether *kind* has *method* from somewhere else than `Place`."""
    return any(method in vars(base) for base in _own_classes(kind))
