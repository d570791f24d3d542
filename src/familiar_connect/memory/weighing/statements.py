"""Which sentences of a message tell something that lasts about its speaker or the speaker's people, and how much.

Kept is what somebody states in plain words about themselves, their family, friends, pets, work, health, places, likes
and plans. Moods, weather, meals, gadgets and games of the day are not, nor are requests, questions, jokes, quotes, code
and what is said of others in the room. These are the rules for English; `languages` has those of seven more, and of
others they know how a sentence about oneself begins. `benchmarks/keeping.py` and its neighbours measure them.

Which kinds of words stand in a clause. Each kind is one long pattern, and a message is read by all of them.

Words by which a clause tells what is over tomorrow: moods, weather, gadgets, meals, journeys, games and chores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

from familiar_connect.memory.weighing.answers import gives_one_answer
from familiar_connect.memory.weighing.first_person import (
    HYPOTHETICAL,
    IMPERATIVE,
    JOKE,
    MASK,
    PLAIN,
    QUESTION,
    Clause,
    clauses_of,
    first_person_weight,
    is_about_the_talk,
    is_in_another_language,
    mask_foreign,
    plain_form,
)
from familiar_connect.memory.weighing.languages.reader import find_rules, weigh_sentence
from familiar_connect.memory.weighing.lasting_words import LASTING, OF_THE_SENTENCE, ONLY_WHEN, RELATION, STRONG, any_of
from familiar_connect.support.lazy_pattern import LazyPattern
from familiar_connect.support.re2_engine import PatternSet
from familiar_connect.support.text import sentence_spans

_NOW = any_of(
    r"\b(?:(?<!as of )(?<!since )today|tonight|right now|rn|just now|at the moment|this (?:morning|afternoon"
    r"|evening|second|minute)|tmrw|tomorrow|brb|afk"
    r"|yesterday|last night|in (?:\d+|a few|five|ten) (?:min|mins|minutes|hours)|later|for now"
    r"|currently (?:at|in|on) (?:the|a))\b",
    r"\b(?:half|quarter) past\b|\bat \d{1,2}(?::\d\d)? ?(?:am|pm)?\b|\b\d{1,2}:\d\d\b|\b\d+%|\ball day\b"
    r"|\bthe (?:whole|entire) day\b|\bday \d+\b",
)
_MOOD = any_of(
    r"\b(?:tired|sleepy|bored|hungry|starving|thirsty|hungover|sad|happy|excited|nervous|exhausted|knackered|cross"
    r"|furious|angry|annoyed"
    r"|grumpy|jealous|relieved|stressed|scared to|worried|lonely|confused|proud|embarrassed|shaking|shook|crying"
    r"|cried|cry|weep|wept"
    r"|laugh(?:ed|ing)?|scream(?:ed|ing)?|giggl\w+|smil\w+|sigh\w*|sneez\w+|yawn\w*|snoring|snores?|cosy|cozy|fine"
    r"|ok|okay|alright"
    r"|feel|feels|feeling|felt|mood|ugh|argh|bah|hmpf|meh|yay|phew|horizontal|mush|blah|panic(?:king)?|giddy"
    r"|over the moon|thrilled"
    r"|in heaven|dreading|regret\w*|hate (?:this|you|it|everyone|him|her))\b",
    r"\b(?:head|back|feet|arms?|legs?|hands?|throat|nose|eyes?|stomach|mouth|brain|fingers?|ankles?|bones|knees?"
    r"|hips?)\b.{0,24}\b(?:hurts?|aches?|dead|gone|killing"
    r"|scratchy|on fire|tired|twitching|soft|full of|mush|cold|shak\w+|sweat\w*|clicking|sore|itch\w*|better"
    r"|not pleased|burning)\b|\bheadaches?\b|\bblisters?\b|\bhiccups\b",
    r"\b(?:i need|need|want|craving) (?:\w+ )?(?:coffee|sleep|food|a nap|a drink|a hug|wine|chocolate|help|tissues"
    r"|a holiday|therapy|opinions|my head examined)\b",
    r"\b(?:can't|cannot) (?:sleep|breathe|believe|wait|even|deal|focus|think|relax)\b|\bmissing out\b|\b(?:fever"
    r"|a cold|sniffles|flu|nosebleed)\b|\b3[789][.,]\d\b",
)
_WEATHER = any_of(
    r"\b(?:rain(?:s|ed|ing|y)?|snow(?:s|ed|ing|y)?|hail(?:s|ed|ing)?|wind(?:y)?|storm(?:y|ing)?|sunny|the sun"
    r"|cloud(?:y|s)?|fog(?:gy)?|weather|freezing"
    r"|degrees|humid|heatwave|frost|thunder\w*|drizzl\w+|grey and wet|spring!|warm as|too (?:warm|hot|cold)"
    r"|it's (?:so )?(?:cold|hot|warm|dark)|getting dark|muggy)\b"
)
_GADGET = any_of(
    r"\b(?:wi-?fi|internet|router|laptop|computer|printer|battery|charger|screen|keyboard|mouse pad|mic|headset|app"
    r"|update[sd]?|updating|connection|server|bug"
    r"|deploy(?:ed)?|link|inbox|email|e-mail|password|telephone|my phone|the phone|card reader|dishwasher"
    r"|washing machine|fridge|oven|heating|smoke alarm|toilet|plumbing"
    r"|engine light|power cut|drum machine|lamp|vending machine|batteries|regex|postcode|pdf|browser|ads?"
    r"|the letters bigger|hairdryer|kettle|speaker)\b"
)
_FOOD = any_of(
    r"\b(?:eat|eats|ate|eating|eaten|dinner|lunch|breakfast|supper|snack|soup|pasta|spaghetti|noodles|rice|pizza"
    r"|sandwich|wrap|kebab|chips|fries|burger|cereal|toast|cake|cakes"
    r"|cookies?|biscuit tin|chocolate|ice cream|pancakes?|curry|dal|salad|eggs?|herring|lamb|roast|meatballs|coffee"
    r"|tea|beer|wine|gin|vodka|cocktail|drinks?|drinking|drank|cook(?:ed|ing)?"
    r"|bak(?:ed|ing)|recipe|mensa|canteen|carrots?|onions?|lentils?|pickle in|bottle of|spicy|salty|chilli"
    r"|delicious|tastes?|roll in town|asparagus|hob|loaf)\b"
)
_JOURNEY = any_of(
    r"\b(?:bus|tram|train is|trains? late|on the train|subway|metro|traffic|ring road|queue|parking|airport run"
    r"|late|delayed|strike|on hold|in line|on my way|arrived|driving home|flat tyre|petrol|fare|commute)\b"
)
_PLAY = any_of(
    r"\b(?:games?|gaming|match|round|level|boss fight|sniper|apex|uno|minecraft|fortnite|ranked|respawn|lobby"
    r"|scored?|referee|nil|quiz|crossword|poker|the bonfire|karaoke"
    r"|trailer|film|movie|movies|episode|series|season \d|netflix|news|podcast|radio|song|songs|playlist|album|book"
    r"|books|video|videos|meme|football on|watch(?:ed|ing)?)\b"
)
_CHORE = any_of(
    r"\b(?:laundry|washing|dishes|clean(?:ed|ing)?|hoover\w*|tidy\w*|groceries|shopping|market|supermarket|haircut"
    r"|bath time|bath|shower|nap|lie down|lying|bed|asleep|sleeping|slept|sleep|woke|awake"
    r"|overslept|meeting|meetings|standup|stand-up|slides|homework|sheet|lecture|shift|deadline today|packing"
    r"|packed|boxes|painting the|paint(?:ed)? the|ironing|forms?|bins?|errands|rehearsal|couch|sofa"
    r"|floor|socks?|hoodie|jeans|jumpers?|shoes|blouse|mascara|button|plasters?|glue|stones|rug|mouse|shutters"
    r"|postman|bills|wearing)\b"
)
_JOKE = any_of(
    r"\b(?:lmao+|lmfao|rofl|jk|just kidding|joking|literally|i swear|blacked out|a frog|frogs|roadkill|demon|melon"
    r"|robot|pirate"
    r"|possessed|zombie|vegetable|wet sock|legend|classic|slander|dramatic|lynched|horse)\b|[😂🤣]"
)
_AGAIN = any_of(r"\b(?:again)\b")
_HEDGE = any_of(r"\b(?:idk|dunno|whatever|for some reason|apparently i)\b")
_FADING_REPORT = any_of(
    r"^i (?:just )?told (?!my\b|our\b|him\b|her\b|them\b|you\b)\w+ (?:about|(?:that )?(?:the|it|he|she|they))\b"
)
_LAUGHTER = any_of(r"\b(?:lol|haha+|hehe+)\b")
_PEEVE = any_of(
    r"\b(?:love|hate|like|loathe|can't stand|miss)s? (?:\w+ )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|mornings?|weekends?|meetings?"
    r"|winter|summer|people|everyone|everybody|everything|my life|my job|life|this|it here|adulting|traffic|waiting"
    r"|queues?|alarms?)\b"
)
_HYPERBOLE = any_of(
    r"\b(?:kill me|want to die|nearly (?:died|fainted|cried)|i died|i'm dead|dying|to death|almost died)\b"
)
_YOU = LazyPattern(
    r"\b(?:you|u|your|ur|ya|yours|yourself|you're|you'll|you've|everyone|everybody|guys|folks)\b(?! know\b"
    r"| can call)",
    re.IGNORECASE,
)

FADING: Mapping[str, tuple[int, LazyPattern]] = MappingProxyType(
    {
        "now": (2, _NOW),
        "mood": (2, _MOOD),
        "weather": (4, _WEATHER),
        "gadget": (3, _GADGET),
        "food": (2, _FOOD),
        "journey": (2, _JOURNEY),
        "play": (2, _PLAY),
        "chore": (2, _CHORE),
        "joke": (2, _JOKE),
        "again": (1, _AGAIN),
        "hedge": (2, _HEDGE),
        "report": (4, _FADING_REPORT),
        "laughter": (1, _LAUGHTER),
        "peeve": (4, _PEEVE),
        "hyperbole": (5, _HYPERBOLE),
        "you": (2, _YOU),
    }
)
NEVER_SPARED = frozenset({"hyperbole", "peeve", "report"})
"""Kinds that no event of a life outweighs."""


CLAUSES_KEPT = 4_096
"""The same message is read for who said it, for the session, and for what is told elsewhere."""
WORTH_A_SET = 200
"""Clauses after which a set pays for its making: it takes as long as searching a hundred of them one by one."""


class KindFinder:
    """Finds the kinds whose pattern a clause has."""

    def __init__(self, patterns: Mapping[str, tuple[int, LazyPattern]]) -> None:
        self._patterns = {kind: pattern for kind, (_, pattern) in patterns.items()}
        self._kinds = tuple(self._patterns)
        self._searched = 0
        self.find = lru_cache(maxsize=CLAUSES_KEPT)(self._find)

    def _find(self, clause: str) -> frozenset[str]:
        self._searched += 1
        kinds = self._kinds
        if self._searched > WORTH_A_SET and clause.isascii():  # RE2 takes letters with accents for no letters
            kinds = tuple(self._kinds[at] for at in self._set.find_possible(clause))
        return frozenset(kind for kind in kinds if self._patterns[kind].search(clause))

    @cached_property
    def _set(self) -> PatternSet:
        return PatternSet([pattern.pattern for pattern in self._patterns.values()])


MAX_CHARS = 4_800
"""How much of one message is read."""
MAX_SENTENCES = 20
LEAST_WEIGHT = 2
"""A sentence that weighs less is not kept."""
STRONG_BONUS = 2
"""What events of a life, health and names weigh more among what is kept: where room is short, likes go first."""
TOPIC_MESSAGES = 4
"""Messages for which "he" and "she" are still whom their speaker told of."""
FRAGMENT_WORDS = 9
"""What has more words is a sentence of its own."""
MAX_NAMES = 200
MAX_STANDING_LINES = 1_000
KEPT_WEIGHTS = 4_096
"""Lines whose weight is kept: the same lists are weighed again and again."""

_I = re.IGNORECASE
_LASTING_KINDS, _FADING_KINDS = KindFinder(LASTING), KindFinder(FADING)

_RELATIVE = LazyPattern(r"(?:who|which|where|when)\b", _I)
_REPORT = LazyPattern(r"\b(?:said|says|goes|wrote|asked|was like)\W*$", _I)
_SELF = LazyPattern(
    r"^(?:\w+ly |then |just |now |today |still )?(?:i|i'm|i've|i'd|i'll|my|we|we're|we've|we'll|our|me|mine|name's"
    r"|name is|call me)\b|\bcalls? me\b",
    _I,
)
_JOINS_OWN = LazyPattern(r",? (?:and|but) (?=(?:i|i['’]m|i['’]ve|im|ive|my)\b)", _I)
_NEAR_SELF = LazyPattern(r"\b(?:me|my|us|our|mine|i|we|i'm|i've|we're)\b", _I)
_KIN = LazyPattern(
    rf"^(?:(?:my|our|his|her|their|the|\w+'s) )?(?:[\w-]+ )?{RELATION}\b(?! of the)|^\w+ (?:and (?:i|me)|is my"
    rf"|was my|'s my)\b",
    _I,
)
_PRONOUN = LazyPattern(
    r"^(?:(?:and|then|there|now) )?(?:he|she|they|his|her|their|him|he's|she's|they're|they've|he'd|she'd|he'll"
    r"|she'll|we both)\b"
    r"|^(?:it was|that was|it's) (?:his|her|their|over|on)\b",
    _I,
)
_THIRD = LazyPattern(r"\b(?:he|she|his|her|him|hers|he's|she's|they|their|them)\b", _I)
_OTHERS = LazyPattern(r"^(?:you|your|you're|u|ur|what|why|how)\b", _I)
_STRANGER = LazyPattern(
    r"^(?:(?:there )?(?:was|were|is)|there's|saw|i saw|some|this) (?:an? |some |this |two )?"
    r"(?:[\w-]+ )?(?:man|woman|guy|girl|bloke|lady|kid|couple|stranger|tourist|people|dude|teenager)s?\b",
    _I,
)
_ELIDED = LazyPattern(
    r"^(?:got|had|have|been|started|starting|signed|applied|bought|sold|met|quit|lost|found|grew|moved|moving|born"
    r"|working|studying|learning|told|selling|broke|came|went|going|married|engaged|allergic|scared|afraid|never|not"
    r"|used|can't|cannot|don't|turned|turning|interviewed|retired|graduated|adopted|expecting|living|live|work|failed"
    r"|passed|finished|dropped|handed|thinking|planning|decided|hoping|saving|taking|need|no|due|diagnosed|veggie"
    r"|vegan"
    r"|vegetarian|gay|divorced|single|since|for|in|on|at|with|from|by|one|two|three|four|five|six|\d|doc|doctor|vet"
    r"|who"
    r"|which)\b",
    _I,
)
_WHOLE = LazyPattern(
    r"[?？]|^\W*(?:(?:and|but|so|well|ok|okay|oh|anyway|also|then|now|maybe|no|yes|yeah|hey|hi|lol|haha) )?(?:i|i'm|im"
    r"|i've|ive|i'll|i'd|you|u|your|we|we're|he|she|he's|she's|hes|shes|they|they're|it|it's|its|that|that's|thats|this"
    r"|there|there's|my|our|his|her|who|what|why|how|when|where|please|thanks|thank|bye|good|lol|haha+|ok|okay|anyway"
    r"|yes|yeah|no|nope|ugh|wow|omg)\b|\b(?:lol|lmao|haha+|hehe+|you|u|your|ur)\b|[😂🤣]",
    _I,
)
"""In a sentence that stands by itself: a subject, a question, a greeting, or laughter."""
_IMPERSONAL = LazyPattern(r"^(?:the|a|an|it's|it|that's|there|there's|so|also)\b", _I)
_BARE_NAME = LazyPattern(
    r"^(?P<name>[A-Z][\w'-]{1,20})(?= (?:and|proposed|left|died|moved|got|is|was|has|had|asked|told|said|wants|who"
    r"|from|with|just|fell|went|broke|\w{3,}(?:ed|es|s))\b|'s\b|,)"
)
_INTIMATE = LazyPattern(
    r"\b(?:proposed|broke up|left me|dumped me|asked me|cheated|loves? me|moved in|married me|passed away)\b", _I
)
_NAMED = LazyPattern(r"(?<=[a-z,;'] )(?P<name>[A-Z][a-zé'-]{1,20})\b")
_PLACE_BEFORE = LazyPattern(
    r"\b(?:in|to|from|at|near|on|of|by|until|since|before|after|for|this|next|last|the|a|an)\s+$", _I
)
_NAMED_BY_KIN = LazyPattern(rf"\b{RELATION},? (?:is |called |named |was )?(?P<name>[A-Za-z][\w-]{{2,20}})\b", _I)
_NO_NAME = frozenset(
    """
    is was are were has had have will would can who that which and but not said says told went came got gets
    just the for with from monday tuesday wednesday thursday friday saturday sunday january february march april
    may june july august september october november december christmas easter god mum dad mother father english
    german french also does did like made lives works loves left died moved wants thinks sent calls called named
    turned wedding name house isn't over here there when where what how why she her his him they them you your
    our this these those one two three four five six all both too very really still always never again about
    after before since sister brother cat dog friend boyfriend girlfriend started starts being been
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence as it was typed, and what it weighs."""

    sentence: str
    weight: int


class StatementReader:
    """Reads what one person says, message after message: who "he" is follows from what they said before."""

    def __init__(self, *, others: Iterable[str] = (), is_alone: bool = False, is_about_anyone: bool = False) -> None:
        """*others*: names of those in the room, who speak for themselves.

        *is_alone*: nobody else talks there, so whoever is told of belongs to the speaker. *is_about_anyone*: what is
        told of others counts as well.
        """
        self._is_alone = is_alone
        self._is_about_anyone = is_about_anyone
        self._others = {name.casefold() for name in others}
        self._people: set[str] = set()
        self._since_topic = TOPIC_MESSAGES + 1

    def read(self, text: str) -> list[Statement]:
        """The statements of the next message."""
        text = text[:MAX_CHARS]
        plain = mask_foreign(text.replace("\u2019", "'"))
        rules = find_rules(plain)
        found: list[Statement] = []
        self._since_topic += 1
        last: tuple[int, int] | None = None
        for start, end in sentence_spans(plain)[:MAX_SENTENCES]:
            if last is not None and rules is None and _is_fragment(plain[start:end]):
                last = last[0], end
                found[-1] = Statement(sentence=_trim(text[last[0] : end]), weight=found[-1].weight)
                self._note_people(plain[start:end], is_kept=True)
                continue
            if rules is not None:
                cut, weight = end - start, weigh_sentence(plain[start:end], rules, message=plain)
            else:
                cut, weight = self._weigh(plain[start:end])
            sentence = _trim(text[start : start + cut])
            is_kept = bool(sentence) and weight >= LEAST_WEIGHT
            if is_kept:
                found.append(Statement(sentence=sentence, weight=weight))
            last = (start, end) if is_kept and start + cut >= end else None
            self._note_people(plain[start : start + cut], is_kept=is_kept)
        return found

    def note_standing(self, text: str) -> None:
        """Learn the names of the speaker's people from what is kept of them already."""
        for line in text.splitlines()[:MAX_STANDING_LINES]:
            self._note_people(line.partition(" said: ")[2], is_kept=True)
        self._since_topic = TOPIC_MESSAGES + 1

    def _weigh(self, sentence: str) -> tuple[int, int]:
        """Up to where *sentence* states something, and what it weighs."""
        clauses = clauses_of(sentence)
        if not clauses or HYPOTHETICAL.search(sentence):
            return 0, 0
        end = len(sentence)
        is_asked = sentence.rstrip().endswith(("?", "？"))
        asked = next((at for at, clause in enumerate(clauses) if _asks(clause.text, at, is_asked)), None)
        if asked is not None or is_asked:
            if not asked:
                return 0, 0
            end = clauses[asked].start
            clauses = clauses[:asked]
        if MASK in sentence and any(_REPORT.search(clause.text) for clause in clauses):
            return 0, 0
        return end, self._weight_of(sentence[:end], clauses)

    def _weight_of(self, sentence: str, clauses: list[Clause]) -> int:
        joking = bool(JOKE.search(sentence))
        whole = plain_form(sentence)
        kinds = set(_LASTING_KINDS.find(whole) & OF_THE_SENTENCE)
        first, subject, fading, aside = 0, -9, 0, 0
        for clause in clauses:
            text = plain_form(clause.text)
            if IMPERATIVE.search(text) and not re.search(r"^(?:please |just )?call me\b", text, _I):
                continue
            if is_about_the_talk(text):
                continue
            if is_in_another_language(text):
                return LEAST_WEIGHT + 1
            standing = self._standing(text)
            if self._is_about_anyone and not _OTHERS.search(text):
                standing = max(standing or 0, 0)
            if standing is None:
                continue
            subject = max(subject, standing)
            first = max(first, first_person_weight(text, only_plain=joking))
            here = _LASTING_KINDS.find(text)
            kinds |= here
            lost = _fading_of(text, here)
            fading, aside = (max(fading, lost), aside) if here else (fading, max(aside, lost))
        if subject == -9:
            return 0
        if not kinds:
            return LEAST_WEIGHT if first == PLAIN and not fading and not aside else 0
        lasting = sum(LASTING[kind][0] for kind in kinds) - (kinds <= ONLY_WHEN)
        weight = lasting + min(first, 1) + subject - fading - aside // 2
        return weight + STRONG_BONUS if weight >= LEAST_WEIGHT and kinds & STRONG else weight

    def _standing(self, clause: str) -> int | None:
        """How sure it is that *clause* is about its speaker or one of theirs; None: it is about somebody else."""
        first = re.match(r"[\w-]+", clause)
        name = first[0].casefold() if first else ""
        is_told_of = self._since_topic <= TOPIC_MESSAGES
        if _OTHERS.search(clause) or _STRANGER.search(clause) or name in self._others:
            return None
        if _KIN.search(clause) or name in self._people or name.removesuffix("s") in self._people:
            self._since_topic = 0
            return 1
        if _SELF.search(clause):
            return 1
        if _PRONOUN.search(clause):
            self._since_topic = 0 if is_told_of else self._since_topic
            return 1 if is_told_of else 0 if self._is_alone or _NEAR_SELF.search(clause) else -2
        if (named := _BARE_NAME.search(clause)) and named["name"].casefold() not in _NO_NAME:
            if _INTIMATE.search(clause):
                self._since_topic = 0
                return 0
            return 0 if is_told_of or self._is_alone else -1
        if _NEAR_SELF.search(clause):
            return 0
        if _THIRD.search(clause) and is_told_of:
            return 0
        if _ELIDED.search(clause):
            return 0
        if _IMPERSONAL.search(clause):
            return 0 if self._is_alone or self._since_topic <= 1 else -1
        return -2

    def _note_people(self, sentence: str, *, is_kept: bool) -> None:
        """Remember the names that *sentence* gives to people: to family, and in what is kept to anyone."""
        names = [found["name"] for found in _NAMED_BY_KIN.finditer(sentence)]
        if is_kept:
            names += [
                found["name"]
                for found in _NAMED.finditer(sentence)
                if not _PLACE_BEFORE.search(sentence[: found.start()])
            ]
            if (bare := _BARE_NAME.search(sentence)) is not None:
                names.append(bare["name"])
        for name in names:
            folded = name.casefold()
            if folded not in _NO_NAME and folded not in self._others and len(self._people) < MAX_NAMES:
                self._people.add(folded)
                self._since_topic = 0


def _trim(words: str) -> str:
    return words.strip(" \t\n,;:-—–")


def _is_fragment(sentence: str) -> bool:
    """Whether *sentence* only goes on with the one before it: a few words that name no subject of their own."""
    words = sentence.split()
    return len(words) <= FRAGMENT_WORDS and not _WHOLE.search(sentence) and MASK not in sentence


def _asks(clause: str, at: int, is_asked: bool) -> bool:
    """Whether a clause is a question; behind others, "who drowned" without a question mark tells more of somebody."""
    return bool(QUESTION.search(clause)) and (at == 0 or is_asked or not _RELATIVE.match(clause))


def _fading_of(clause: str, kinds: frozenset[str]) -> int:
    """How much of what fades stands in *clause*, beside what lasts in it."""
    found = set(_FADING_KINDS.find(clause))
    if kinds & {"liking", "health"}:
        found -= {"food"}
    if "occasion" in kinds:
        found -= {"now"}
    if "kinship" in kinds:  # who somebody is outlasts how they felt
        found -= {"mood"}
    fading = sum(FADING[kind][0] for kind in found - NEVER_SPARED)
    if kinds & STRONG:
        fading //= 2
    return fading + sum(FADING[kind][0] for kind in found & NEVER_SPARED)


def split_statement(sentence: str) -> list[str]:
    """*sentence*; or its parts where each tells something lasting of its speaker, and a later line may replace one.

    "I play the cello and I live in Graz" is two lines: whoever moves still plays.
    """
    parts = [_trim(part) for part in _JOINS_OWN.split(sentence)]
    if len(parts) < 2 or not any(map(gives_one_answer, parts)):
        return [sentence]
    stand_alone = all(_SELF.search(part) and find_self_statements(part) == [part] for part in parts)
    return parts if stand_alone else [sentence]


def find_self_statements(text: str) -> list[str]:
    """The sentences of one message that tell something lasting about its speaker, as they were typed."""
    return [statement.sentence for statement in StatementReader().read(text)]


@lru_cache(maxsize=KEPT_WEIGHTS)
def weigh_line(text: str) -> int:
    """What a line that somebody said weighs by itself, whomever it is about; 0: nothing worth keeping."""
    return max((statement.weight for statement in StatementReader(is_about_anyone=True).read(text)), default=0)
