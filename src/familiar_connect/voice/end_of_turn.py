"""Whether somebody has said all they wanted to, by their last words, and how long a pause it takes to be sure.

Pure: nothing is asked and nothing is waited for. A pause within a sentence is longer than one that ends a turn, so who
breaks off after "and" is waited for, and who has asked a question is answered soon.

What the settings say of a voice session: how long a pause, an interruption and a reply may be.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.voice.back_channels import language_code
from familiar_connect.voice.interruption import InterruptionLimits
from familiar_connect.voice.vad import SILENCE_TIMEOUT_MS

MAX_JUDGED_CHARS = 400
"""The end of what was said tells it."""


class TurnEnd(Enum):
    """What the last words of somebody say."""

    finished = "finished"
    """A whole sentence, or a question."""
    unclear = "unclear"
    unfinished = "unfinished"
    """They broke off."""


@dataclass(frozen=True)
class _OpenWords:
    """Words after which more is to come."""

    always: frozenset[str]
    """Even where a recogniser has put a full stop behind: articles, conjunctions, sounds of thinking."""
    mostly: frozenset[str]
    """Some sentences do end with them: prepositions, auxiliary verbs."""
    opening: frozenset[str]
    """A clause that begins with one and has no comma may be the first half of a sentence."""
    alone: frozenset[str]
    """Alone or after a comma they announce more; elsewhere they may end a sentence: "well", "so"."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPEN = MappingProxyType(
    {
        "en": _OpenWords(
            _words(
                "and or but because the a an my your his their our its um uh uhm umm er erm hmm if when while "
                "although unless whereas than whether as every which whose i'm you're we're they're i've let's"
            ),
            _words(
                "to of for with from by at in on into onto about between through without under over that this "
                "these those is are was were am be been have has had do does did can could will would shall "
                "should may might must i we they he she who what where how not very really just some any no it's "
                "there's i'll we'll gonna wanna"
            ),
            _words("if when because although while since unless after before whenever as"),
            _words("so well like now anyway"),
        ),
        "de": _OpenWords(
            _words(
                "und oder aber weil dass denn sondern der die das den dem des ein eine einen einem einer eines "
                "mein meine dein deine sein seine ihr ihre unser unsere euer wenn ob als obwohl damit äh ähm öh "
                "hm zum zur vom beim im"
            ),
            _words(
                "mit von zu bei nach aus auf in an für über unter vor zwischen ohne gegen durch um bis wie ist "
                "sind war waren habe hat haben hatte kann können muss müssen will wollen soll sollen würde ich "
                "wir er sie es man nicht sehr"
            ),
            _words("wenn weil obwohl als während falls nachdem bevor dass"),
            _words("also so na"),
        ),
        "fr": _OpenWords(
            _words(
                "et ou mais parce car le la les un une des du de au aux mon ma mes ton ta tes son sa ses notre "
                "votre leur leurs que qui si quand comme euh heu lorsque puisque j'ai c'est"
            ),
            _words(
                "à en avec pour par sur sous dans sans chez vers entre est sont était ai as a avons ont je tu il "
                "elle on nous"
            ),
            _words("si quand lorsque parce puisque comme pendant après avant"),
            _words("alors donc puis ben"),
        ),
        "es": _OpenWords(
            _words(
                "y e o u pero porque aunque el la los las un una unos unas mi mis tu tus su sus nuestro nuestra "
                "que si cuando como eh em del al"
            ),
            _words(
                "a de en con por para sin sobre entre hasta desde es son era está están he ha han yo nosotros "
                "ellos muy no"
            ),
            _words("si cuando porque aunque mientras como después antes"),
            _words("pues entonces este"),
        ),
        "it": _OpenWords(
            _words(
                "e ed o oppure ma perché però il lo la i gli le un uno una mio mia miei tuo tua suo sua nostro "
                "nostra che se quando come ehm mmh del della dei degli delle al alla nel nella sul sulla"
            ),
            _words("a di da in con su per tra fra è sono era ho ha abbiamo hanno io noi loro molto non"),
            _words("se quando perché mentre siccome dopo prima"),
            _words("allora quindi dunque"),
        ),
        "pt": _OpenWords(
            _words(
                "e ou mas porque o a os as um uma uns umas meu minha seu sua nosso nossa que se quando como hum "
                "do da dos das no na nos nas ao à pelo pela"
            ),
            _words("de em com por para sem sobre entre até desde é são era está estão tem têm eu nós eles muito não"),
            _words("se quando porque enquanto embora como depois antes"),
            _words("então tipo"),
        ),
        "nl": _OpenWords(
            _words(
                "en of maar want omdat dat de het een mijn jouw zijn haar ons onze hun als wanneer terwijl "
                "hoewel eh ehm uh uhm"
            ),
            _words(
                "van voor met op in aan bij naar uit over onder tussen zonder tot is was waren heb heeft hebben "
                "kan ik we wij"
            ),
            _words("als wanneer omdat terwijl hoewel nadat voordat"),
            _words("dus nou"),
        ),
        "pl": _OpenWords(
            _words(
                "i a ale albo lub bo że żeby ponieważ który która które jeśli jeżeli gdy kiedy oraz eee yyy hmm "
                "mój moja"
            ),
            _words(
                "w we z ze na do od po za przez dla przy o u pod nad bez między jest są był była mam ma nie "
                "bardzo ja my"
            ),
            _words("jeśli jeżeli gdy kiedy ponieważ chociaż zanim"),
            _words("więc czyli"),
        ),
    }
)
_JAPANESE_ALWAYS = re.compile(
    r"(?:を|は|と|に|へ|て|って|えっと|えと|あの|あのね|その|それで|でも|だから|そして|なんか|まあ|たり|なら)\Z"
)
_JAPANESE_MOSTLY = re.compile(r"(?:けど|けれど|けれども|から|ので|のに|が|し|の|で|も|ば)\Z")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]\Z")
_BREAKS_OFF = re.compile(r"(?:\.{2,}|…|[,;:、，；：]|\s[-–—]|[–—]|-)[\"'”’»)\]]*\Z")
_ASKS = re.compile(r"[?!？！؟][\"'”’»)\]」』]*\Z")
_STOPS = re.compile(r"[.。｡।][\"'”’»)\]」』]*\Z")
_AFTER_COMMA = re.compile(r"[,、]\s*\w+\Z")
_LAST_SENTENCE = re.compile(r"[.!?。！？…]\s*(?=\S)")
_WORD = re.compile(r"\w+(?:['’]\w+)?")


def judge_turn_end(text: str, language: str | None = None) -> TurnEnd:
    """What the end of *text* says, in *language* (`de`, `pt-BR`); None: in any that is known here."""
    said = unicodedata.normalize("NFC", text[-MAX_JUDGED_CHARS:]).strip()
    if not said:
        return TurnEnd.unclear
    if _BREAKS_OFF.search(said):
        return TurnEnd.unfinished
    if _ASKS.search(said):
        return TurnEnd.finished
    stop = _STOPS.search(said)
    body = said[: stop.start()] if stop else said
    is_open = _is_open(body, language_code(language))
    if is_open is TurnEnd.unfinished:
        return is_open
    if stop is None:
        return TurnEnd.unfinished if is_open is TurnEnd.unclear else TurnEnd.unclear
    return is_open


def _is_open(body: str, code: str | None) -> TurnEnd:
    """What the words say without the sign behind them; finished: they are open to nothing."""
    if code in (None, "ja") and _JAPANESE.search(body):
        if _JAPANESE_ALWAYS.search(body):
            return TurnEnd.unfinished
        return TurnEnd.unclear if _JAPANESE_MOSTLY.search(body) else TurnEnd.finished
    words = [word.replace("’", "'").casefold() for word in _WORD.findall(_LAST_SENTENCE.split(body)[-1])]
    if not words:
        return TurnEnd.finished
    if code is None:  # a word that is open in one language may end a sentence in another
        is_doubtful = any(words[-1] in each.always | each.mostly | each.alone for each in _OPEN.values())
        return TurnEnd.unclear if is_doubtful else TurnEnd.finished
    known = _OPEN[code] if code in _OPEN else _OPEN["en"]
    announces = words[-1] in known.alone and (len(words) == 1 or _AFTER_COMMA.search(body) is not None)
    if words[-1] in known.always or announces:
        return TurnEnd.unfinished
    is_half = "," not in body and words[0] in known.opening
    return TurnEnd.unclear if is_half or words[-1] in known.mostly | known.alone else TurnEnd.finished


@dataclass(frozen=True, kw_only=True)
class TurnPauses:
    """How long nobody must have spoken until somebody is answered, in seconds."""

    lull_s: float
    """Where their words do not tell."""
    finished_s: float
    unfinished_s: float
    language: str | None = None

    def after(self, text: str) -> float:
        """The pause after *text*: never longer than `lull_s` for what is finished, nor shorter for what is not."""
        match judge_turn_end(text, self.language):
            case TurnEnd.finished:
                return min(self.finished_s, self.lull_s)
            case TurnEnd.unfinished:
                return max(self.unfinished_s, self.lull_s)
            case TurnEnd.unclear:
                return self.lull_s


MAX_HOLD_S = 60.0
"""What was said is answered after this long, though somebody still speaks."""
SMALL_MODEL_REPLY_S = 20.0
"""The model that comes with the program follows no instruction to be brief."""


def longest_reply_s(config: CharacterConfig) -> float | None:
    """How long a reply may be spoken; None: as long as it is."""
    is_small = config.llm[MAIN_SLOT].is_small_default
    return config.longest_reply_s if config.longest_reply_s is not None else SMALL_MODEL_REPLY_S if is_small else None


def turn_pauses(config: CharacterConfig) -> TurnPauses:
    """What the settings say of the end of a turn."""
    return TurnPauses(
        lull_s=config.voice_lull_timeout,
        finished_s=config.finished_pause_s,
        unfinished_s=config.unfinished_pause_s,
        language=config.stt.language_if_known,
    )


def interruption_limits(config: CharacterConfig) -> InterruptionLimits:
    """What the settings say of being talked over."""
    return InterruptionLimits(
        min_interruption_s=config.min_interruption_s,
        short_long_boundary_s=config.short_long_boundary_s,
        lull_timeout_s=config.voice_lull_timeout,
        silence_s=SILENCE_TIMEOUT_MS / 1000,
        most_s=max(MAX_HOLD_S, config.short_long_boundary_s + config.voice_lull_timeout),
    )
