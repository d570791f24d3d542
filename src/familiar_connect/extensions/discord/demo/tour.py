"""The tour: lines that people of the demonstration say by themselves, before and after a restart."""

from __future__ import annotations

from familiar_connect.api.stand_in import TourStep

BEFORE = (
    TourStep(
        "Ada speaks to the familiar in #general; Ben's chatter is not meant for it.",
        ("ada: Hello @{name}! My cat is called Pickle and she is afraid of thunder.", "ben: it looks like rain"),
    ),
    TourStep("A reaction to what it said, and a picture.", ("ada: +❤️", "ben: !picture the tide this morning")),
    TourStep("A thread follows its channel.", ("#birthday ada: @{name}, what could we bake for Ben?",)),
    TourStep("You write to it alone: that stays between you.", ("#dm Between us: Ben gets a red kite.",)),
    TourStep("A slash command; only Ada sees its answer.", ("ada: /privacy",)),
)
AFTER = (
    TourStep(
        "In another channel, Ada asks what she said before the restart.",
        ("#garden ada: @{name}, what is my cat called?",),
    ),
    TourStep(
        "Ben asks for what was said in the direct message. It must not come out here.",
        ("#garden ben: @{name}, what do I get for my birthday?",),
    ),
)
