"""A message as the clauses its speaker means: without quotes, code, pasted lines, questions, requests and jokes.

The rules know English best.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from familiar_connect.memory.weighing.lasting_words import any_of

MAX_CLAUSE_CHARS = 300

_I = re.IGNORECASE

# What was typed but is not the speaker's own plain word; masked by characters that match nothing.

MASK = "\u25a1"
_FOREIGN = (
    re.compile(r"```.*?(?:```|\Z)", re.DOTALL),
    re.compile(r"`[^`\n]{1,300}`"),
    re.compile(r"^[ \t]{0,8}>.*$", re.MULTILINE),
    re.compile(r"[♪♫][^\n]*"),
    re.compile(r"\(\([^()\n]{0,600}\)\)"),
    re.compile(r"(?<![\w*])\*{1,2}[^*\s][^*\n]{0,600}\*{1,2}"),
    re.compile(r"(?<!\w)_[^_\n]{2,600}_(?!\w)"),
    re.compile(r"\b(?:https?://|www\.)\S+"),
    re.compile(r"^'[^'\n]{6,300}'(?=\W)", re.MULTILINE),
    re.compile(r"[\"“„«][^\"”“»\n]{0,600}[\"”“»]"),
)
_PASTED_LINE = any_of(
    r"^\s*\[?\(?\d{1,2}:\d\d",
    r"^\s*\[[^\]\n]{0,20}\d[^\]\n]{0,20}\]",
    r"^\s*<[\w .-]{1,40}>",
    r"^\s*[/!$#\\.@]\w",
    r"^\s*(?:sudo|apt|pip|npm|git|cd|ls|curl|docker|import|def|class|select|insert|const|let \w+ =|var"
    r"|traceback)\b(?!')",
    r"(?:;|\{|\}|\(\)|\);|=>|->)\s*$",
    r"\w\s*(?:==?|\+=|:=)\s*[\w\"'\[{(]",
    r"^\s*(?:from|to|subject|date|sent|cc|re|fwd?):\s",
    r"\b(?:na[ -]na|la[ -]la|who?a+[ -]oh?|oh[ -]oh|ooh+|shalala|yeah yeah yeah)\b",
)
_LABELLED = re.compile(r"^\s*(?P<label>[^\n:,.!?]{1,40}):\s")
_STATES = re.compile(r"\b(?:is|was|are|were|has|have|had)\b|\w's\b", _I)
"""In a label that is a sentence of its own, not somebody's name."""
_OWN_LABEL = any_of(
    r"^(?:a |one |some |quick |small |little |fun |my |about )*(?:correction|edit|update|facts?|p\.?s\.?|btw|note"
    r"|fyi|me"
    r"|myself|reminder|news|good news|bad news|intro|confession|also|tbh|anyway|so|well|story)$",
    r"^(?:i|i'm|im|my|we|our|let me introduce)\b(?!.*\b(?:said|says|wrote|told|goes|asked)$)",
)

# Sentences and clauses

HYPOTHETICAL = any_of(
    r"\b(?:once upon a time|in (?:the|this|that|my|a|our) (?:games?|dreams?|story|scene|campaign|role ?play|rp"
    r"|movie|scenario|world))\b",
    r"^\W*(?:\w+,? )?(?:if|imagine|suppose|supposing|pretend|assume|assuming|what if|let'?s (?:say|pretend)|say i)\b",
    r"\b(?:i wish|if only|as if i|if i (?:were|was|had))\b",
    r"^\W*(?:maybe|perhaps) (?:i|we) (?:should|could|will|can|might)",
)
JOKE = any_of(
    r"\b(?:jk|j/k|just kidding|only joking|yeah,? right|literally|as if|lmao+|lmfao|rofl)\b",
    r"\b(?:ha){2,}h?\b|\blol\b|😂|🤣|(?:^|\s)/[sj]\s*$",
    r"\b(?:[mbz]illions? (?:of |brain|times)|eat a horse|queen of england|kill me)\b",
)
QUESTION = any_of(
    r"^(?:who|whom|whose|why|which|what'?s|where'?s|who'?s|how'?s)\b",
    r"^(?:what|how|where|when)\b(?! (?:a|an|i|we|my)\b)|^(?:what|how|where) (?:i|my|we)\b",
    r"^(?:what|how) (?:about|else)\b",
    r"^(?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|may|might|have|has|had|don'?t|doesn'?t"
    r"|didn'?t"
    r"|isn'?t|aren'?t|won'?t|wouldn'?t|can'?t|couldn'?t|haven'?t|shouldn'?t) (?:i|you|u|we|he|she|they|it|my|your"
    r"|the|this"
    r"|that|these|there|any(?:one|body)|some(?:one|body)|people)\b",
    r"^and you\b|^you\W*$|^remember\W*$|^right\W*$|^any (?:ideas?|tips|advice|thoughts)\b|^wanna\b|^ready\b"
    r"|^got any\b",
)
IMPERATIVE = any_of(
    r"^(?:please|pls|plz|kindly|just|now|then|don'?t|do not|never)* ?(?:please )?(?:tell|give|show|write|help"
    r"|remind|explain"
    r"|let|let'?s|translate|summari[sz]e|make|send|read|sing|draw|describe|list|find|play|stop|forget|remember"
    r"|guess|listen"
    r"|look|check|come|wait|try|say|repeat|ask|answer|use|act|roll|continue|keep|pick|choose|sort|fix|add|remove"
    r"|delete|put"
    r"|take|bring|set|open|close|turn (?:on|off)|be (?:my|a|nice|honest|quiet|careful)|talk|speak|think|rate|judge"
    r"|greet"
    r"|compare|calculate|convert|recommend|suggest|teach me|search|google|call (?!me\b)|wish me|quiz|test|entertain"
    r"|cheer"
    r"|roast|compliment|note that you|name (?!is|'s)|review|correct|edit|create|generate|proofread|imagine)\b",
    r"^(?:can|could|would|will) (?:you|u|someone|anyone)\b",
    r"^i (?:want|need|would like|expect|beg|order|command|ask|dare) (?:you|u|ya)\b",
)
_LEAD = re.compile(
    r"^(?:\W|(?:hi|hey|hello|hiya|yo|greetings|oh|ah|aw+|uh+|um+|hm+|well|so|ok|okay|yes|yeah|yep|yup|nah|no|nope"
    r"|and|but"
    r"|or|also|plus|btw|fyi|tbh|ngl|imo|tbf|honestly|actually|anyway|anyways|basically|sadly|luckily|unfortunately"
    r"|fortunately"
    r"|apparently|obviously|turns out|it turns out|wait|sorry|look|listen|see|guys|folks|all|everyone|everybody"
    r"|there|again"
    r"|thanks|thank you|please|lol|haha|now|then|right|correction|edit|update|ps|by the way|in fact|to be (?:honest"
    r"|fair)"
    r"|just so (?:you|u) know|you know|guess what|fun fact|good news|bad news|for the record|the (?:truth|thing) is"
    r"|because"
    r"|cause|cuz|since|that|which means|personally|as for me|me personally|scratch that|my bad"
    r"|remember(?: that)?(?= i\b| i'm"
    r"| my\b)|(?:don'?t forget|keep in mind|note)(?: that)?(?= i\b| i'm| my\b)"
    r"|i (?:think|guess|mean|meant|believe|said|say|admit|swear|suppose|should (?:say|mention)|forgot to (?:say"
    r"|mention)"
    r"|(?:already |just )?told (?:you|u))(?: that)?(?= (?:i|i'm|im|i've|my|we|our)\b)"
    r"|(?:today|tomorrow|yesterday|tonight|usually|sometimes|recently|lately|currently|these days|nowadays"
    r"|originally)(?= (?:i|i'm|i've|my|we)\b)|(?:every|on|in|last|this|next|back|at|since|for|until|during|as"
    r"|whenever|when"
    r"|after|before|once|two|three|a few)\b[^,]{0,40}?"
    r"(?= (?:i|i'm|i've|my|we)\b))(?![\w'-]))+",
    _I,
)
_CLAUSE_BREAK = re.compile(
    r"(?:[,;:—–()…□]+|\s-+\s|\b(?:and|but|so|because|cause|cuz|although|though|while|whereas)\b)\s*",
    _I,
)


@dataclass(frozen=True)
class Clause:
    """A piece of a sentence, without the words that only lead in, and where it begins."""

    text: str
    start: int


def clauses_of(sentence: str) -> list[Clause]:
    """The clauses of a masked *sentence* that say anything."""
    return list(_clauses(sentence))


def _clauses(sentence: str) -> Iterator[Clause]:
    at = 0
    for gap in [*_CLAUSE_BREAK.finditer(sentence), None]:
        text = sentence[at : gap.start() if gap else len(sentence)][:MAX_CLAUSE_CHARS]
        bare = _LEAD.sub("", text.strip())
        if bare.strip(" .!?" + MASK):
            yield Clause(bare.strip(), at)
        elif text.strip() and QUESTION.search(text.strip()):
            yield Clause(text.strip(), at)
        at = gap.end() if gap else at


def mask_foreign(text: str) -> str:
    """*text*, as long as it was, with what is not the speaker's own word blotted out."""
    for pattern in _FOREIGN:
        text = pattern.sub(_blot, text)
    lines = text.split("\n")
    if sum(bool(re.match(r"\s*(?:from|to|subject|date|sent):\s", line, _I)) for line in lines) >= 2:
        return MASK * len(text)  # a pasted mail
    return "\n".join(map(_masked_line, lines))


def _blot(found: re.Match[str]) -> str:
    words = found[0]
    if words[0] in '"“„«' and len(words.split()) <= 3 and not re.search(r"\b(?:i|i'm|my|me)\b", words, _I):
        return words  # a name or a word set in quotes
    if words[0] == "*" and len(words.split()) == 1 and found.start() > 0:
        return words  # emphasis
    return "".join(character if character == "\n" else MASK for character in words)


def _masked_line(line: str) -> str:
    if _PASTED_LINE.search(line):
        return MASK * len(line)
    label = _LABELLED.match(line)
    if label is not None and not _OWN_LABEL.search(label["label"].strip()) and not _STATES.search(label["label"]):
        return MASK * len(line)
    return line


# Contractions as they are typed on telephones, and short forms of common words.
_SHORT_FORMS = {
    "im": "i'm", "ive": "i've", "id": "i'd", "ill": "i'll", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't",
    "cant": "can't", "wont": "won't", "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't", "werent": "weren't",
    "havent": "haven't", "hasnt": "hasn't", "hadnt": "hadn't", "couldnt": "couldn't", "wouldnt": "wouldn't",
    "shouldnt": "shouldn't", "hes": "he's", "shes": "she's", "theyre": "they're", "theyve": "they've", "weve": "we've",
    "thats": "that's", "whats": "what's", "theres": "there's", "youre": "you're", "its": "it's", "bf": "boyfriend",
    "gf": "girlfriend", "w": "with", "n": "and", "bc": "because", "abt": "about", "ppl": "people", "rly": "really",
    "yrs": "years", "yr": "year", "bday": "birthday", "mam": "mum", "mums": "mum's", "dads": "dad's",
    "prof": "professor",
}  # fmt: skip
_WORD = re.compile(r"[\w']+")


def plain_form(clause: str) -> str:
    """*clause* with the contractions and short forms that people type put right, in its own letter case elsewhere."""
    clause = re.sub(r"^(\w+ly|well|so|and|but|ok|oh|anyway|btw|also)\W+(?=(?:i|my|we|he|she)\b)", "", clause, flags=_I)
    return _WORD.sub(lambda found: _SHORT_FORMS.get(found[0].casefold(), found[0]), clause)
