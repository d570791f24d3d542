"""A form of the page, sent as a browser without any script sends it."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.fakes.page import Answered, PageProcess


def send_form(page: PageProcess, address: str, /, **fields: str) -> Answered:
    """The answer to the form at *address*; a redirect is not followed."""
    body = urlencode(fields)
    return page.ask("POST", address, body, origin=page.origin, content_type="application/x-www-form-urlencoded")
