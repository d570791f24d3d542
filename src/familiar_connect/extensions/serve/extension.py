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


extension = Extension(
    name="serve",
    verbs=tuple(VerbPart(name=name, help=says, create=create_serve_verb) for name, says in VERBS.items()),
)
