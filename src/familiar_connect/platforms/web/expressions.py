"""Expressions: pictures of a familiar's moods, and which of them goes with a reply.

That is told by the words of the reply, without asking a model. The labels are those that SillyTavern's expressions
have; a picture whose label is none of them is shown when a reply says its name. What is told as an *action* counts more
than what is said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from urllib.parse import quote

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.platforms.web.picture_files import PictureFile, PictureFolder

WORDS: Mapping[str, str] = {
    "admiration": "admir awe impressive magnificent marvel wonderful splendid brilliant",
    "amusement": "laugh giggl chuckl grin haha funny amus snicker hilarious smirk tease teasing joke",
    "anger": "anger angry furious rage raging growl snarl glare glaring seeth livid shout",
    "annoyance": "annoy irritat groan scowl huff exasperat grumbl eye-roll tsk",
    "approval": "approv nod agree indeed exactly certainly thumbs",
    "caring": "comfort gentle gently tender soothe soothing pat care caring hug embrac worry worries",
    "confusion": "confus puzzl perplex bewilder baffl huh scratch",
    "curiosity": "curious wonder intrigu lean tilt ask peer inquisitive",
    "desire": "desire long longing yearn crave craving want wish",
    "disappointment": "disappoint sigh letdown droop deflat pity",
    "disapproval": "disapprov frown shake tut forbid refus wrong",
    "disgust": "disgust revolt gross nausea recoil sneer vile",
    "embarrassment": "embarrass blush flush sheepish awkward redden bashful",
    "excitement": "excit thrill bounce bouncing eager clap squeal wow yay beaming",
    "fear": "fear afraid scared terrif frighten trembl dread shiver panic horror",
    "gratitude": "thank grateful gratitude apprecia bow bless",
    "grief": "grief griev mourn sob weep wail bereft",
    "joy": "joy happy happi smile smiling delight glad cheer merry bright",
    "love": "love loving kiss adore adoring beloved darling dear heart",
    "nervousness": "nervous fidget anxious stammer uneasy gulp hesitat",
    "optimism": "hope hopeful optimis surely tomorrow confident",
    "pride": "proud pride triumph chest accomplish boast",
    "realization": "realiz realis aha suddenly understand dawn oh",
    "relief": "relie phew exhale relax finally safe",
    "remorse": "sorry apolog regret remorse guilt forgive",
    "sadness": "sad tear cry cries crying lonely sorrow downcast melancholy",
    "surprise": "surpris gasp astonish shock startl blink unexpected",
    "neutral": "",
}
"""Label → how words begin that speak for it."""
CALM = ("neutral", "default", "main")
MAX_CHARS = 4_000
"""Of the end of a reply."""
ACTION_COUNTS = 3
_ACTION = re.compile(r"\*[^*\n]{1,400}\*")
_NUMBER = re.compile(r"[-_ .]\d+$")


class Expressions:
    """The moods that one familiar has a picture of; every method reads the disk."""

    def __init__(self, folder: FamiliarFolder) -> None:
        self.pictures = PictureFolder(folder.expressions)

    def list_urls(self) -> dict[str, str]:
        """The address of a picture for each label; of several the first."""
        found: dict[str, str] = {}
        for name, file in self.pictures.list_all().items():
            found.setdefault(label_of(name), expression_url(name, file))
        return found


def expression_url(name: str, file: PictureFile) -> str:
    """The address of a picture, which changes when the picture does."""
    return f"/gallery/expression?name={quote(name, safe='')}&v={file.mark}"


def label_of(name: str) -> str:
    """The label that a picture called *name* is for: `joy-2` is one for joy."""
    return _NUMBER.sub("", name).strip().casefold()


def choose_expression(text: str, labels: Collection[str]) -> str | None:
    """Which of *labels* goes with a reply; a calm one where its words speak for none, None where there is no such."""
    said = text[-MAX_CHARS:].casefold()
    acted = " ".join(_ACTION.findall(said))
    counted = {
        label: len(pattern.findall(said)) + (ACTION_COUNTS - 1) * len(pattern.findall(acted))
        for label in labels
        if (pattern := _pattern_of(label)) is not None
    }
    best = max(counted, key=lambda label: counted[label], default=None)
    if best is not None and counted[best]:
        return best
    return next((label for label in CALM if label in labels), None)


def find_expression(text: str, urls: Mapping[str, str]) -> str | None:
    """The picture that goes with a reply, of those that there are by their labels."""
    label = choose_expression(text, urls) if urls else None
    return urls[label] if label is not None else None


@cache
def _pattern_of(label: str) -> re.Pattern[str] | None:
    begins = WORDS.get(label, "").split() + ([label] if label not in CALM else [])
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, begins))})") if begins else None
