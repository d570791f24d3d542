"""Names in other forms than they are known by: with other endings ("Мике" for Мика), and in other scripts.

One name sounds alike in every script: "Мика", "ミカ" and "미카" are Mika. What a letter sounds like is told by its name
in Unicode where that says it, and by a table where it does not. Signs that stand for words, as Chinese ones, have no
sound here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import lru_cache

from familiar_connect.support.letters import LETTER
from familiar_connect.support.text import spell_in_latin

LONGEST_ENDING = 3
LEAST_DECLINED = 4
"""Letters of a name that is looked for with other endings."""
LEAST_SOUNDS = 3
"""Sounds of a name that is looked for in other scripts; fewer are met by chance."""
MAX_NAME_CHARS = 40
_BEGINNING = 3
"""Letters, and sounds, that a name has in common with every form of it."""

_WORD = re.compile(
    rf"[\u30a1-\u30ff]+|[\u3041-\u309f]+|(?:(?![\u3041-\u30ff])(?:{LETTER}))+(?:['’](?:(?![\u3041-\u30ff])(?:{LETTER}))+)*"
)
_INDIC = "DEVANAGARI|BENGALI|GURMUKHI|GUJARATI|TELUGU|KANNADA|MALAYALAM"
_TOLD_SOUND = re.compile(
    r"(?:KATAKANA|HIRAGANA) LETTER (?P<small>SMALL )?(?P<kana>[A-Z]{1,3})|HANGUL SYLLABLE (?P<hangul>[A-Z]+)"
    rf"|(?:{_INDIC}) (?P<kind>LETTER|VOWEL SIGN|SIGN) (?P<indic>[A-Z]+)"
)
_SPELLED = """
а a б b в v г g ґ g д d е e є e ё e ж zh з z и i і i ї i й i к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch
ш sh щ sh ы i э e ю yu я ya
α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ i φ f χ ch ψ ps ω o
א a ב b ג g ד d ה a ו v ז z ח h ט t י i כ k ך k ל l מ m ם m נ n ן n ס s ע a פ f ף f צ ts ץ ts ק k ר r ש sh ת t
ا a أ a إ a آ a ب b ت t ث th ج j ح h خ kh د d ذ d ر r ز z س s ش sh ص s ض d ط t ظ z ع a غ g ف f ق k ك k ل l م m ن n ه h
ة a و u ي i ى a ء _ پ p چ ch گ g ک k
""".split()  # noqa: SIM905
_SOUNDS = dict(zip(_SPELLED[::2], _SPELLED[1::2], strict=True))
_INDIC_SIGNS = {"virama": "", "anusvara": "n", "candrabindu": "n", "nukta": "", "visarga": ""}
_ALIKE = (("sch", "s"), ("sh", "s"), ("zh", "s"), ("ch", "t"), ("ts", "t"), ("ph", "f"), ("kh", "k"), ("th", "t"))
_LETTERS_ALIKE = str.maketrans("cqwvlyz", "kkbbris", "h") | {ord("x"): "ks"}


def find_other_forms(
    text: str, names: Iterable[str], *, found: Set[str] = frozenset(), with_endings: bool = True
) -> Iterator[tuple[str, str]]:
    """Those of *names* that stand in *text* in another form, each with that form; both in lower case.

    *with_endings*: with another ending and a capital, too, and not only in another script. *found*: names that stand
    in it as they are; whoever bears one of them is meant, and not whoever is called alike in another script.
    """
    words = list(dict.fromkeys(match[0] for match in _WORD.finditer(text)))
    capitals = [word.lower() for word in words if with_endings and word[0].isupper()]
    known = [low for name in names if (low := name.strip().lower()) and len(low) <= MAX_NAME_CHARS]
    begun = {word[:_BEGINNING] for word in capitals}
    met = set(found)
    for low in known:
        if low[:_BEGINNING] in begun and (form := next((word for word in capitals if is_form_of(low, word)), "")):
            met |= {low, form}
            yield low, form
    unmet = [word.lower() for word in words if not word[0].islower() and not any(each in word.lower() for each in met)]
    heard = [_Heard(word, _script_of(word), spell_sounds(word)) for word in unmet]
    sounded = {each.sounds[:_BEGINNING] for each in heard}
    for low in known:
        if low not in met and spell_sounds(low)[:_BEGINNING] in sounded:
            yield from ((low, each.word) for each in heard if each.sounds_like(low))


def is_form_of(name: str, word: str) -> bool:
    """Whether *word* may be *name* with another ending: Мике for Мика, Mikas for Mika, Elif'in for Elif."""
    if len(name) < LEAST_DECLINED:
        return False
    stem = name if word.startswith(name) else name[:-1]
    ending = word.removeprefix(stem).replace("'", "").replace("’", "")
    return word.startswith(stem) and len(ending) <= LONGEST_ENDING


@dataclass(frozen=True)
class _Heard:
    """A word of a text, in lower case, and what it sounds like."""

    word: str
    script: str
    sounds: str

    def sounds_like(self, name: str) -> bool:
        """Whether the word is *name* in another script, perhaps with an ending."""
        if self.script == _script_of(name) or len(self.sounds) < LEAST_SOUNDS:
            return False
        known = spell_sounds(name)
        has_endings = self.script != "LATIN"
        return len(known) >= LEAST_SOUNDS and (known == self.sounds or (has_endings and is_form_of(known, self.sounds)))


def romanize(words: str) -> str:
    """*words* in plain Latin letters, for names that can have no others; what has no sound is left out."""
    return " ".join(filter(None, (spell_in_latin(word) or _romanize_word(word) for word in words.split())))


@lru_cache(maxsize=16_384)
def spell_sounds(word: str) -> str:
    """What *word* sounds like, roughly, in Latin letters; nothing where a letter of it does not tell."""
    spelled = _romanize_word(word)
    for group, alike in _ALIKE:
        spelled = spelled.replace(group, alike)
    return re.sub(r"(.)\1+", r"\1", spelled.translate(_LETTERS_ALIKE))


def _romanize_word(word: str) -> str:
    """The sounds of *word* one by one; nothing where one of its letters has none, or it is too long to be a name."""
    if len(word) > MAX_NAME_CHARS:
        return ""
    spelled = ""
    for char in unicodedata.normalize("NFC", word).lower():
        spelled = _add_sound(spelled, char)
        if spelled.endswith("?"):
            return ""
    return spelled.removesuffix("^").replace("^", "a").replace("_", "")


def _add_sound(spelled: str, char: str) -> str:
    """*spelled* and what *char* adds to it; "^" stands for a vowel that the next sign may replace, "?" for no sound."""
    if char.isascii():
        return spelled + char if char.isalpha() else spelled
    if (sound := _SOUNDS.get(char) or _SOUNDS.get(unicodedata.normalize("NFD", char)[0])) is not None:
        return spelled + sound
    if latin := spell_in_latin(char):
        return spelled + latin.lower()
    told = _TOLD_SOUND.fullmatch(unicodedata.name(char, ""))
    if told is None:
        return spelled if not char.isalpha() or char in "ьъー" else "?"
    if told["kana"]:
        return _add_kana(spelled, told["kana"].lower(), is_small=told["small"] is not None)
    if told["hangul"]:
        return spelled + told["hangul"].lower()
    sound = told["indic"].lower()
    if told["kind"] == "LETTER":
        spelled = spelled.replace("^", "a")
        return spelled + (sound if sound[0] in "aeiou" else sound.removesuffix("a") + "^")
    return spelled.removesuffix("^") + _INDIC_SIGNS.get(sound, sound)


def _add_kana(spelled: str, sound: str, *, is_small: bool) -> str:
    if is_small and sound == "tu":  # doubles what follows
        return spelled
    if is_small and len(sound) == 1:
        return spelled.rstrip("aeiou") + sound
    return (spelled.removesuffix("i") if is_small else spelled) + sound.replace("hu", "fu")


@lru_cache(maxsize=4_096)
def _script_of(word: str) -> str:
    return unicodedata.name(word[0], "").partition(" ")[0].partition("-")[0]
