"""The tour: what people of the demonstration do by themselves, before and after a restart."""

from __future__ import annotations

from familiar_connect.api.stand_in import TourStep

BEFORE = (
    TourStep(
        "Ada speaks to the familiar in a group; Ben's chatter is not meant for it.",
        ("ada: Hello @{name}! My cat is called Pickle and she is afraid of thunder.", "ben: who has the oven gloves?"),
    ),
    TourStep(
        "You write to it alone. Nobody else is told of that.",
        ("#dm I am planning a surprise for Ada.", "#kitchen ada: @{name}, what is going on today?"),
    ),
    TourStep("The group becomes a supergroup, which has another id.", ("/upgrade", "ada: @{name}, still with us?")),
)
AFTER = (
    TourStep("Ada asks what she said before the restart.", ("#kitchen ada: @{name}, what is my cat called?",)),
    TourStep("Telegram cuts the connection; it comes back by itself.", ("/drop", "ben: @{name}, still there?")),
)
