"""The gate between gathering and budgeting."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.audience import EVERYONE, Audience, Confidence, DisclosurePolicy, Readers, between, whole_server
from familiar_connect.context.confidence_gate import withhold
from familiar_connect.context.types import ContextRequest, Contribution, Layer, Modality, WithheldNote

SERVER, DM = whole_server("discord", 2001), between(["discord:101"])
LOUNGE = Readers(SERVER, platform="discord", channel_id=3001, server_id=2001)


def request_in(readers: Readers | None, policy: DisclosurePolicy | None = None) -> ContextRequest:
    telling = policy or DisclosurePolicy()
    return ContextRequest("mira", 3001, 2001, None, "", Modality.text, 0, 0.0, readers=readers, telling=telling)


def block(source: str, *audiences: Audience) -> Contribution:
    return Contribution.of(Layer.content, "text", source=source, audiences=audiences or None)


def test_what_may_not_be_told_here_goes_no_further_and_is_noted() -> None:
    """For the owner's eyes: where it came from and whom it was said to."""
    told, notes = withhold([block("lore", EVERYONE), block("dm", DM), block("mixed", SERVER, DM)], request_in(LOUNGE))

    assert [each.source for each in told] == ["lore"]
    assert notes == [
        WithheldNote(Layer.content, "dm", (str(DM),)),
        WithheldNote(Layer.content, "mixed", (str(DM), str(SERVER))),
    ]


def test_what_carries_no_audience_counts_as_the_owners() -> None:
    """A provider that forgets to say costs a block, never a confidence."""
    told, notes = withhold([block("forgetful")], request_in(LOUNGE))

    assert told == []
    assert notes[0].audiences == ("owner",)


def test_what_its_author_wrote_to_be_told_is_told_unless_it_says_to_whom() -> None:
    """A card, a document, a mode: written for everybody, but for one that names its audience."""
    card, diary = replace(block("card"), authored=True), replace(block("diary", DM), authored=True)
    told, notes = withhold([card, diary], request_in(LOUNGE))

    assert (told, [note.source for note in notes]) == ([card], ["diary"])


def test_a_preview_that_nobody_but_the_owner_reads_withholds_nothing() -> None:
    """And so does one mind everywhere."""
    blocks = [block("dm", DM), block("forgetful")]

    assert withhold(blocks, request_in(None)) == (blocks, [])
    assert withhold(blocks, request_in(LOUNGE, DisclosurePolicy(Confidence.open))) == (blocks, [])
