"""How long the properties are searched for an example that breaks them."""

from __future__ import annotations

import os

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "50"))
"""How many examples a property is tried with where its test names no number; raise it for a long search."""


def at_least(count: int) -> int:
    """*count* examples, or as many as somebody asked for with PROPERTY_EXAMPLES."""
    return max(count, EXAMPLES)
