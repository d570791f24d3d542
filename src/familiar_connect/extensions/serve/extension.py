"""The value by which the endpoint is found. Making it loads no more than its verbs' names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.api import Extension, VerbPart
from familiar_connect.extensions.serve.verbs import VERBS

if TYPE_CHECKING:
    import click


def create_serve_verb() -> click.Command:
    """Called when the verb is used, or its help is shown."""
    from familiar_connect.extensions.serve.command import serve

    return serve


def create_watch_verb() -> click.Command:
    """As above, for those who only look on."""
    from familiar_connect.extensions.serve.watch_command import watch

    return watch


extension = Extension(
    name="serve",
    verbs=(
        VerbPart(name="serve", help=VERBS["serve"], create=create_serve_verb),
        VerbPart(name="watch", help=VERBS["watch"], create=create_watch_verb),
    ),
)
