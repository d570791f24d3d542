"""The tour: lines that people of the demonstration say by themselves, before and after a restart."""

from __future__ import annotations

from familiar_connect.api.stand_in import TourStep
from familiar_connect.api.support import how_to_install
from familiar_connect.extensions.discord.voice.parts import missing_extra

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
IN_VOICE = (
    TourStep(
        "Ada calls the familiar to a voice channel and talks with it: all of it is sound, spoken and heard.",
        ("ada: !join", "ada: /subscribe-my-voice", "ada: !say {name}, what sounds do you like best?"),
    ),
    TourStep(
        "Ben talks over it. It stops or talks on, as its settings and chance have it; a short answer is over before.",
        (
            "ben: !over Wait, wait, I have to tell you about the storm that we had here last night.",
            "ada: !say {name}, tell us a long story about the sea.",
            "ada: /unsubscribe-voice",
        ),
    ),
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


def list_steps() -> tuple[tuple[TourStep, ...], ...]:
    """The steps before and after the restart; where voice is not installed, that is said and left out."""
    extra = missing_extra(())
    if extra is None:
        return (*BEFORE, *IN_VOICE), AFTER
    return (*BEFORE, TourStep(f"The voice channel is left out: {how_to_install(extra)}.", ())), AFTER
