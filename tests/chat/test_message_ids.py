"""The short handles the model sees."""

from __future__ import annotations

from familiar_connect.chat.types import MessageIdMap


def test_messages_and_media_are_counted_apart() -> None:
    """D1, D3: two independent counters, each from one; the same message may hold both kinds."""
    ids = MessageIdMap()

    assert [ids.register("900"), ids.register("901"), ids.register("900", "media")] == ["ref_1", "ref_2", "media_1"]


def test_asking_twice_gives_the_same_handle() -> None:
    """D2: registering is idempotent for each kind."""
    ids = MessageIdMap()

    assert ids.register("900") == ids.register("900")


def test_any_handle_leads_back() -> None:
    """D4: whatever its kind; an unknown one leads nowhere."""
    ids = MessageIdMap()
    ids.register("900")
    ids.register("901", "media")

    assert [ids.resolve(handle) for handle in ("ref_1", "media_1", "ref_9", "900")] == ["900", "901", None, None]
