"""The tour: what viewers of the demonstration do by themselves, before and after a restart."""

from __future__ import annotations

from familiar_connect.api.stand_in import TourStep

BEFORE = (
    TourStep(
        "Ada speaks to the familiar in the chat of your stream; Ben's chatter is not meant for it.",
        ("ada: Hello @{name}! My cat is called Pickle and she is afraid of thunder.", "ben: what a boss fight"),
    ),
    TourStep("A moderator takes back what Cy wrote. It is gone for the familiar too.", ("cy: buy my coins", "/ban cy")),
    TourStep("Things happen on the stream: it is told, and speaks of them if it likes.", ("ben: /cheer 100 hooray",)),
    TourStep("Ads are answered at once.", ("/ads 1",)),
)
AFTER = (
    TourStep("Ada asks what she said before the restart.", ("ada: @{name}, what is my cat called?",)),
    TourStep("Twitch cuts the connection; the familiar comes back by itself.", ("/drop", "ben: @{name}, still there?")),
)
