"""One person on several networks: what they say in one direct chat, told in another only while they are linked."""

from __future__ import annotations

import re

import pytest

from tests.extensions.serve.test_endpoint import say, user
from tests.fakes.endpoint import Endpoint
from tests.fakes.waiting import wait_until

pytestmark = pytest.mark.process


def use(endpoint: Endpoint, key: str, line: str) -> str:
    """What a command answers in that key's own chat."""
    return say(endpoint, key, user(line), chat_id="commands")


def code_in(answer: str) -> str:
    found = re.search(r"/link (\w{4}-\w{4})", answer)
    assert found is not None, answer
    return found[1]


def test_what_is_said_on_one_side_is_told_on_the_other_while_both_are_linked(endpoint: Endpoint) -> None:
    """Two codes, one said on each side, join them; nobody else hears of it, and /unlink ends it."""
    phone, desk, stranger = (endpoint.add_key(name, name) for name in ("phone-of-ida", "desk-of-ida", "stranger"))
    say(endpoint, phone, user("My locker number is heron-4417, remember it."), chat_id="locker")

    def is_told(key: str) -> bool:
        say(endpoint, key, user("What is my locker number?"))
        return "heron-4417" in endpoint.last_prompt()

    wait_until(lambda: is_told(phone), "it is found again on the side where it was said")
    before = is_told(desk)
    first = code_in(use(endpoint, phone, "/link"))
    second = code_in(use(endpoint, desk, f"/link {first}"))
    halfway = is_told(desk)
    joined = use(endpoint, phone, f"/link {second}")
    linked = is_told(desk), is_told(stranger)
    use(endpoint, desk, "/unlink")

    assert "Done" in joined
    assert (before, halfway, linked, is_told(desk)) == (False, False, (True, False), False)


def test_a_code_said_by_the_wrong_one_joins_nobody(endpoint: Endpoint) -> None:
    """Not by the one who asked for it, not twice, not by a third on the second step, not where others read."""
    one, two, three = (endpoint.add_key(name, name) for name in ("asks", "answers", "meddles"))
    first = code_in(use(endpoint, one, "/link"))

    own = use(endpoint, one, f"/link {first}")
    second = code_in(use(endpoint, two, f"/link {first}"))
    answers = [use(endpoint, two, f"/link {first}"), use(endpoint, two, f"/link {second}")]
    answers.append(use(endpoint, three, f"/link {second}"))

    assert all("wrong, used up or too old" in each for each in (own, *answers))
