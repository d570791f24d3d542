"""Back-channels: words that only show that somebody listens, in several languages. They interrupt nobody."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from types import MappingProxyType

MAX_CHARS = 40
"""Whoever says more has something to say."""

_SOUNDS = r"m+h+m+|m+|h+m+|u+h* hu+h+|m+ h+m+|a+h+|o+h+|aha+|wow|okay|okey|oké|ok|(?:ha)+h?|(?:he)+h?|cool|super"
_ENGLISH = (
    "yeah|yea|yep|yup|yes|right|sure|exactly|true|indeed|nice|great|really|totally|absolutely|i see"
    "|got it|of course|go on|i know|i get it|that's right|all right|alright"
)
_OTHERS = MappingProxyType(
    {
        "de": (
            "ja|jaja|jo|jep|jup|genau|stimmt|das stimmt|klar|na klar|alles klar|ach so|achso|ach|ach ja"
            "|ah ja|oha|soso|echt|wirklich|tatsächlich|richtig|gut|sehr gut|na gut|toll|krass|sicher|eben"
            "|natürlich|verstehe|ich verstehe|versteh|ich weiss|weiss ich|schön"
        ),
        "fr": (
            "oui|ouais|mouais|d'accord|exact|exactement|c'est vrai|c'est ça|voilà|bien sûr|ah bon|ah oui"
            "|ben oui|mais oui|je vois|je sais|je comprends|compris|tout à fait|en effet|génial|vraiment"
            "|hein|tiens|ouah|waouh|bien"
        ),
        "es": (
            "sí|si|claro|claro que sí|vale|bueno|ya|ya veo|ya lo sé|lo sé|entiendo|exacto|exactamente"
            "|de acuerdo|por supuesto|verdad|es verdad|cierto|es cierto|ajá|órale|genial|en serio|así es"
            "|eso es|muy bien"
        ),
        "it": (
            "sì|si|certo|certamente|esatto|esattamente|va bene|d'accordo|capisco|capito|ho capito|giusto"
            "|vero|è vero|davvero|già|eh|eh già|eh sì|bene|perfetto|lo so|infatti|appunto|ecco|bello"
        ),
        "pt": (
            "sim|claro|pois|pois é|pois sim|exato|exatamente|certo|tá|tá bom|tá bem|está bem|tudo bem"
            "|entendi|entendo|percebo|isso|isso mesmo|com certeza|verdade|é verdade|é|sei|eu sei|uhum|aham"
            "|legal|beleza|nossa|sério|a sério|ótimo"
        ),
        "nl": (
            "ja|jaja|jazeker|jawel|precies|klopt|dat klopt|juist|goed|inderdaad|natuurlijk|tuurlijk|snap ik"
            "|ik snap het|begrijp ik|ik begrijp het|ik weet het|zeker|echt|echt waar|leuk|mooi|o ja|oh ja"
            "|ach|helder|prima"
        ),
        "pl": (
            "tak|no|no tak|ach tak|jasne|dokładnie|dobrze|dobra|racja|właśnie|no właśnie|rozumiem|oczywiście"
            "|serio|naprawdę|pewnie|wiem|fajnie|zgadza się|świetnie"
        ),
    }
)
_JAPANESE = (
    "うん|はい|ええ|へえ|へぇ|ほう|ふうん|ふん|ああ|あ|おお|お|そう|そうそう|そうだ"
    "|そうだね|そうだよね|そうですね|そうですか|そっか|そうか|そうなんだ|そうなんですか"
    "|そうなの|なるほど|なるほどね|なるほどですね|確かに|たしかに|ほんと|ほんとう|ほんとに"
    "|本当|本当に|わかる|わかります|わかりました|わかった|分かった|まじ|まじで|マジ|マジで"
    "|すごい|すごいね|いいね|もちろん|その通り|オッケー|了解"
)
_MEANS_MORE_ELSEWHERE = frozenset({"no"})
"""A sign of listening in one language, and something to answer in others."""
_BETWEEN_WORDS = re.compile(r"[^\w']+")
_LENGTHENED = str.maketrans({"’": "'", "ー": None, "〜": None})


class BackChannelFilter:
    """Knows the back-channels of one language, or of all of them where it is not known which is spoken.

    English ones count in every language; *own_words* are an owner's.
    """

    def __init__(self, language: str | None = None, own_words: Sequence[str] = ()) -> None:
        code = language_code(language)
        own = [re.escape(folded) for word in own_words if (folded := _fold(word))]
        spaced = [_SOUNDS, _ENGLISH, *_word_lists(code), *own]
        one = "|".join(_fold_pattern(each) for each in spaced)
        self._spaced = re.compile(rf"(?:{one})(?: (?:{one}))*")
        self._unspaced = _compile_unspaced([*_JAPANESE.split("|"), *map(_fold, own_words)])
        self._knows_japanese = code in (None, "ja")

    def matches(self, text: str) -> bool:
        """Whether *text* only shows that somebody listens: "mhm", "yeah, right", "genau", "そうですね"."""
        words = _fold(text)
        if not 0 < len(words) <= MAX_CHARS:
            return False
        if self._spaced.fullmatch(words) is not None:
            return True
        return self._knows_japanese and self._unspaced.fullmatch(words) is not None


def language_code(language: str | None) -> str | None:
    """The part of a code such as `pt-BR` that names a language we have words of; None: any may be spoken."""
    code = re.split(r"[-_]", language.strip().casefold())[0] if language else ""
    return code if code in ("en", "ja") or code in _OTHERS else None


def _word_lists(code: str | None) -> Iterable[str]:
    if code is not None:
        return (_OTHERS[code],) if code in _OTHERS else ()
    return (
        "|".join(word for word in each.split("|") if word not in _MEANS_MORE_ELSEWHERE) for each in _OTHERS.values()
    )


def _compile_unspaced(words: Iterable[str]) -> re.Pattern[str]:
    """One after the other without a space, the longest first; each is taken once and for all."""
    ordered = sorted({_fold(word) for word in words} - {""}, key=len, reverse=True)
    return re.compile(rf"(?:(?>{'|'.join(map(re.escape, ordered))}) ?)++")


def _fold_pattern(pattern: str) -> str:
    return unicodedata.normalize("NFKC", pattern).casefold()


def _fold(text: str) -> str:
    """*text* as it is compared: small letters, one space between words, no signs, no sound drawn out."""
    plain = unicodedata.normalize("NFKC", text).translate(_LENGTHENED).casefold()
    return _BETWEEN_WORDS.sub(" ", plain).strip(" '")
