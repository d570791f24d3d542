"""Whether a clause in the first person states something of its speaker, judged by its form alone.

A message as the clauses its speaker means: without quotes, code, pasted lines, questions, requests and jokes.

The rules know English best.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from familiar_connect.memory.weighing.lasting_words import RELATION as _RELATION
from familiar_connect.memory.weighing.lasting_words import any_of
from familiar_connect.memory.weighing.vocabulary import PET as _PET
from familiar_connect.support.lazy_pattern import LazyPattern

MAX_CLAUSE_CHARS = 300

_I = re.IGNORECASE

# What was typed but is not the speaker's own plain word; masked by characters that match nothing.

MASK = "\u25a1"
_FOREIGN = (
    LazyPattern(r"```.*?(?:```|\Z)", re.DOTALL),
    LazyPattern(r"`[^`\n]{1,300}`"),
    LazyPattern(r"^[ \t]{0,8}>.*$", re.MULTILINE),
    LazyPattern(r"[♪♫][^\n]*"),
    LazyPattern(r"\(\([^()\n]{0,600}\)\)"),
    LazyPattern(r"(?<![\w*])\*{1,2}[^*\s][^*\n]{0,600}\*{1,2}"),
    LazyPattern(r"(?<!\w)_[^_\n]{2,600}_(?!\w)"),
    LazyPattern(r"\b(?:https?://|www\.)\S+"),
    LazyPattern(r"^'[^'\n]{6,300}'(?=\W)", re.MULTILINE),
    LazyPattern(r"[\"“„«][^\"”“»\n]{0,600}[\"”“»]"),
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
_LABELLED = LazyPattern(r"^\s*(?P<label>[^\n:,.!?]{1,40}):\s")
_STATES = LazyPattern(r"\b(?:is|was|are|were|has|have|had)\b|\w's\b", _I)
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
_LEAD = LazyPattern(
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
_CLAUSE_BREAK = LazyPattern(
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
    return "\n".join(map(_mask_line, lines))


def _blot(found: re.Match[str]) -> str:
    words = found[0]
    if words[0] in '"“„«' and len(words.split()) <= 3 and not re.search(r"\b(?:i|i'm|my|me)\b", words, _I):
        return words  # a name or a word set in quotes
    if words[0] == "*" and len(words.split()) == 1 and found.start() > 0:
        return words  # emphasis
    return "".join(character if character == "\n" else MASK for character in words)


def _mask_line(line: str) -> str:
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
_WORD = LazyPattern(r"[\w']+")


def plain_form(clause: str) -> str:
    """*clause* with the contractions and short forms that people type put right, in its own letter case elsewhere."""
    clause = re.sub(r"^(\w+ly|well|so|and|but|ok|oh|anyway|btw|also)\W+(?=(?:i|my|we|he|she)\b)", "", clause, flags=_I)
    return _WORD.sub(lambda found: _SHORT_FORMS.get(found[0].casefold(), found[0]), clause)


# Clauses that tell something, the plain ones first

_WHEN = (
    r"\b(?:tomorrow|tonight|today|next|this (?:week|weekend|month|year|summer|winter|spring|fall|autumn|morning"
    r"|evening|afternoon)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:in|on|by|until|since) (?:january|february|march|april|may"
    r"|june|july|august"
    r"|september|october|november|december|the \d|\d|a (?:week|month|year|few))|soon|christmas|easter|at \d"
    r"|later this)\b"
)
_ADVERB = (
    r"(?:so|really|very|just|still|too|pretty|kinda|kind of|quite|a bit|a little|also|all|totally|completely"
    r"|actually|now"
    r"|currently|only|finally|even|definitely|probably|always|never|usually|often|sometimes|mostly|recently|already"
    r"|once|ever"
    r"|honestly|absolutely|barely|rarely|both|not|secretly|normally|generally|originally|basically|sorta|obviously"
    r"|genuinely"
    r"|truly|simply|mainly|almost|long|since|literally)"
)
_AM = rf"(?:i'?m|i am|i was|i wasn'?t|i'?ve been|i have been|ive been|i'?d been)(?: {_ADVERB})*"
_NOT_A_NAME = (
    r"(?:crazy|later|back|maybe|when|if|tomorrow|a|an|the|old|whatever|what|stupid|anytime|tonight|out|on"
    r"|paranoid)"
)

_PLAIN = any_of(
    # names
    r"^(?:my|the)? ?(?:full |real |first |last |middle |nick)?name(?:'?s| is| was| has)\b",
    rf"\bcall(?:s|ed)? me (?!{_NOT_A_NAME}\b)\S",
    rf"^i (?:{_ADVERB} )*(?:go|went) by\b|^i(?:'m| am|m) (?:called|named|known as)\b",
    r"^my (?:pronouns?|birthday|bday|age|zodiac sign|star sign|hometown|job|major|nationality|pronouns)\b.{0,3}",
    # family and pets
    rf"^(?:me and )?(?:my|our) (?:[\w'-]+ ){{0,3}}?(?:{_RELATION}|{_PET})\b(?!:)[\w', -]* ?(?:'s|is|was|are|were"
    rf"|has|had|have|just|got"
    r"|gets|taught|made|gave|left|went|came|grew|met|bought|sold|won|lost|fell|broke|wrote|runs|built"
    r"|lives?|lived|works?|worked|died|passed|turn(?:s|ed)|loves?|likes?|hates?|[a-z]{3,}(?:ed|es|s))\b",
    rf"^(?:i|we)(?:'ve| have|'ve got| got| have got| had| adopted| own| keep| raise| lost| foster|'re having"
    rf"| are having| don'?t have| never had)"
    rf"(?: {_ADVERB})* (?:[\w'-]+ ){{0,5}}?(?:{_RELATION}|{_PET})\b",
    rf"\b(?:is|are|was|were|'s|'re) (?:my|our) (?:[\w'-]+ ){{0,3}}?(?:{_RELATION}|{_PET})\b",
    r"\b(?:is|are|was|were|'s|'re) (?:my|our) (?:[\w'-]+ ){0,2}?(?:birthday|bday|anniversary|name|favou?rites?"
    r"|fave?|home|hometown|job|hobby|hobbies"
    r"|passion|birthplace|day off|dream|major|school|first (?:day|time|language)|last day|wedding|native language"
    r"|mother tongue|guilty pleasure)\b",
    # work, study, places, age
    rf"^{_AM} (?:from|born|raised|married|engaged|divorced|single|widowed|pregnant|expecting|retired|unemployed"
    rf"|allergic|vegan"
    r"|vegetarian|diabetic|autistic|dyslexic|deaf|blind|colou?r ?blind|left-?handed|an? |the (?:youngest|oldest"
    r"|eldest|middle|only)|\d|turning"
    r"|(?:moving|living|working|studying|training|learning|teaching|flying|travell?ing|volunteering|based|majoring"
    r"|dating|renting|saving)\b"
    r"|(?:scared|afraid|terrified|fond|into|addicted|obsessed|a fan|named|called)\b(?= of| to| with| by| \w))",
    rf"^(?:i|we) (?:{_ADVERB} |don'?t |didn'?t |do not |used to |no longer )*(?:live|lived|work|worked|grew up"
    rf"|study|studied|teach"
    r"|taught|moved|was born|were born|turn|turned|graduated|speak|majored)\b(?! (?:it|that|this|out|on|off|around"
    r"|into)\b)",
    # likes
    rf"^(?:i|we) (?:{_ADVERB} |don'?t |do not |didn'?t |used to )*(?:love|like|liked|loved|hate|hated|enjoy|adore"
    rf"|prefer|dislike|detest|despise|collect"
    r"|miss|can'?t stand|cannot stand|can'?t eat|can'?t drink|don'?t eat|don'?t drink|eat|drink|can'?t swim"
    r"|can'?t drive)\b"
    r"(?! (?:it|that|this|these|those|you|u|your|ur|how|when|what|where|the (?:way|idea|sound|part)|to (?:hear|know"
    r"|see|ask|think|say|talk)|so|him|her|them|being)\b)(?=\W*\w+|\W*$)",
    r"^my (?:[\w'-]+ ){0,2}?(?:favou?rite|fave?)\b",
    rf"^(?:i'?m |i am |{_ADVERB} )*(?:a )?(?:huge |big |massive )?(?:fan|lover) of (?!you|that|this|it|your)",
    r"^my (?:hobby|hobbies|passion|dream|allergy|allergies)\b",
    # without "I"
    r"^(?:just |recently |finally |still |currently )?(?:allergic to|born (?:in|on|and)|grew up|moved (?:to|back|in"
    r"|out)|adopted|working (?:as|at|in|for)"
    r"|living (?:in|with)|studying|live (?:in|with)|work (?:in|at|as)|graduated|retired|got (?:married|engaged"
    r"|divorced|promoted|fired|hired|laid off|accepted|a new|a job)"
    r"|started (?:a|my|at|learning|working)|quit (?:my|smoking|drinking)|turned \d|turning \d|broke (?:my|up)"
    r"|bought (?:a|my|an)|passed my|finished my|been (?:learning|playing|obsessed|living|working|married|vegan|a )"
    r"|had to put (?:my|our)|never been to|not a fan of|recovering from|expecting (?:a|our))\b(?! (?:it|that"
    r"|this)\b)",
    r"^(?:can'?t|cannot) (?:eat|drink|do|have|stand|swim|drive) (?!it\b|that\b|this\b)\w",
    r"^gonna (?:visit|move|marry|study|start|travel|adopt|see my|meet my)\b",
)
_HERE = LazyPattern(
    r"^(?!(?:i|i'm|it|it's|still|right|over|out|up|down|back|not|nothing|come|in|get|hello|hi|hey|new|you|we|what"
    r"|who|is|are|nice|only|just"
    r"|same|none|welcome|stay|sit|from|around|to|be|look|anyone|anybody|someone|no|good|the|that|this|there|live"
    r"|near|up)\b)"
    r"(?:an? )?(?:[\w'-]+ ){1,3}here[.!]*$",
    _I,
)

_TALK_COMPLEMENT = any_of(
    r"^(?:back|here|there|sure|certain|sorry|ok|okay|fine|good|great|well|better|alright|done|finished|through"
    r"|kidding|joking|serious|glad|happy|sad|curious|bored"
    r"|tired|sleepy|hungry|thirsty|confused|lost|listening|wondering|asking|saying|talking|telling"
    r"|thinking (?!of (?:adopting|moving|quitting|getting|buying|becoming|learning|selling))|trying|looking"
    r"|waiting"
    r"|guessing|laughing|crying|dying|dead|ready|busy|right|wrong|impressed|surprised|shocked|amazed|worried|away"
    r"|afk|(?:off|out|in|on|up|down)\W*$|on (?:my way|the (?:train|bus|phone|way|road))|off to|up for|down for"
    r"|gone|leaving|about|feeling|chatting|doing (?!an? |my )|eating|sitting|standing|lying|going (?:home|out|now"
    r"|crazy|insane|nuts|to (?:bed|sleep|go|eat|the|take|say|ask|tell|try|need|be (?:right )?back))"
    r"|getting (?:tired|bored|sleepy|hungry|old|there|ready|better|worse|annoyed|angry)|having (?:fun|trouble"
    r"|a (?:good|bad|great|hard|nice|rough|terrible|weird))"
    r"|with you|all ears|excited|nervous|hot|cold|starving|exhausted|stuck|blushing|jealous|late|early|alone|home"
    r"|at (?:home|work|school)|annoyed|angry|mad|upset|offended"
    r"|grateful|thankful|honou?red|flattered|touched|speechless|weird|stupid|dumb|an idiot|a mess|a genius"
    r"|the (?:best|worst|one|king|queen)|your|you|yours|it|that|so|like|able|supposed|sick of|afraid (?:so|not|that"
    r"|i|you|it)"
    r"|proud of you|new|free|game|awake|asleep|drunk|joking|pretending|wearing|using|typing|reading (?:this|that"
    r"|your)|walking on|just saying|in (?:love with (?:it|this|that|you)|bed|trouble|here|there|the (?:mood|middle"
    r"|shower|car))|enjoying (?:this|it|that|our|your|the)|liking)\b",
)
_HAVE_TALK = (
    r"have (?:no (?:idea|clue|problem|choice|words|doubt)|an? (?:question|request|idea|problem|issue|doubt"
    r"|suggestion|favou?r|joke|story|feeling|hunch|point|task|riddle|theory|surprise|secret|bad feeling|million)"
    r"|nothing|some questions?|questions|another|one (?:more|question)|faith|been (?:thinking|wondering|waiting"
    r"|trying|meaning|told|looking))"
)
_TALK_VERB = any_of(
    r"^(?:think|thought|guess|guessed|see|saw (?:it|that|what|your)|agree|disagree|mean|meant|know|knew|understand"
    r"|understood|wonder|wondered|suppose|believe (?!in )|bet|doubt|hear|heard|swear|feel|felt"
    r"|said|say|told|tell|ask|asked|appreciate|apologi[sz]e|promise|wish|try|tried|clicked|opened|typed|noticed"
    r"|need (?!(?:insulin|glasses|surgery|crutches|medication|a wheelchair))|want|(?:should|could|might|may|must"
    r"|would|will|shall|can|do|did|does|wo|ca)(?:n'?t)?|cannot|care|mind|fixed|installed|restarted|updated|rebooted"
    r"|debugged"
    r"|get (?:it|that|you|the)|got (?:it|that|you|your|to)|gotta|have to|had to|hope|insist|beg|demand|suggest"
    r"|recommend|vote|imagine|pretend|assume|expect|figure|figured|looked|look|wait|waited|laughed|laugh|trust"
    r"|forgot|forget|remember|notice"
    rf"|{_HAVE_TALK}"
    r"|draw|cast|attack|nod|bow|smile|step|walk|sit|stand|whisper|grin|sigh|shrug|reach|roll|enter|follow|refuse"
    r"|accept|stay|leave|go (?:north|south|east|west|on|with|first|back|to (?:bed|sleep))|take (?:it|that|the|out"
    r"|my|your)|give|pick|choose|put|open|close|point|turn (?:to|around|back|on|off)|love you|like you|see|quote"
    r"|repeat|continue|stop|start (?:to|over)|like (?:it|that|this)|copied|pasted|pasted|googled|read (?:it|that"
    r"|this|your)|sent|am|was|'m|'ve|'ll|'d)\b",
)
_ABOUT_CHAT = LazyPattern(
    r"\b(?:you|u|your|ur|ya|yours|yourself|this (?:chat|bot|game|app|conversation|message))\b",
    _I,
)
_VAGUE_OBJECT = LazyPattern(
    r"^(?:it|that|this|these|those|so|too|what|how|one|again|now|here|there|him|her|them|myself)\b|^\W*$",
    _I,
)
_NOT_MINE = LazyPattern(
    r"^(?:my|our) (?:bad|god|goodness|gosh|lord|dear|friends?|love|point|questions?|guess|answer|opinion|mistake"
    r"|apologies|pleasure|turn|message|code|program|script"
    r"|function|error|prompt|request|heart|soul|character|oc|problem|issue|idea|suggestion|advice|theory|brain|mind"
    r"|mood|head|eyes|conversation|chat|screen|first question|last (?:message|question)|next question|liege"
    r"|name in)\b",
    _I,
)
_MINE = LazyPattern(
    r"^(?:my|our) (?:[\w'&.-]+ ){1,6}?(?:'s|is|isn'?t|was|wasn'?t|are|aren'?t|were|has|hasn'?t|had|have|got|gets"
    r"|just|starts?|begins?|ends?|runs?|goes|went|came|comes|broke|died|lives?"
    r"|works?|means?|needs|says (?!:)|takes?|took|fell|made|makes|won|lost|left|looks? like|used to"
    r"|[a-z]{3,}ed)\b(?! (?:it|that|not important)\b)|^(?:my|our) [\w-]+(?:'s|s) (?!\W)",
    _I,
)
_I_VERB = LazyPattern(
    rf"^(?:i've|ive|i)(?: {_ADVERB})*(?P<habit> (?:don'?t|didn'?t|do not|did not|haven'?t|hadn'?t|no longer|used to"
    rf"|never))?(?: {_ADVERB})*"
    r" (?P<rest>[a-z][\w'-]*(?: .*)?)$",
    _I,
)
_I_AM = LazyPattern(rf"^(?:(?:{_AM})|(?:we'?re|we are|we were|we'?ve been)(?: {_ADVERB})*) (?P<rest>.+)$", _I)
_I_CAN = LazyPattern(
    r"^i (?:can|could|can'?t|cannot|couldn'?t) (?:\w+ly )?(?:speak|play|swim|cook|ride|drive|sing|dance|ski|skate"
    r"|knit|juggle|whistle|fly|paint|draw|code|type|eat|drink|have|read (?:music|braille)|sleep)\b(?! (?:it|that"
    r"|this|you|with that)\b)",
    _I,
)
_I_WANT = LazyPattern(
    r"^i(?:'d| would)? (?:really |always )?(?:want(?:ed)?|like|love|hope|plan|intend|aim|dream) (?:to (?:be|become"
    r"|learn|move|visit|travel|have|buy|quit|study|start|get (?:a|married|my)|adopt|open|write|run|live|go to"
    r"|retire|finish)|of )\b",
    _I,
)
_I_WILL = LazyPattern(
    r"^(?:i'?ll|i will|we'?ll|we will|i have to|i gotta|i need to|i've got to|i must|i'm gonna|im gonna"
    r"|i'm about to) .+",
    _I,
)
_WE_TELL = LazyPattern(
    r"^we(?:'ve|'re| are| were| have| had)? ?(?:just |both |all |finally |recently |also |never |don'?t |didn'?t "
    r"|currently |still )*(?:have|had|got|own|bought|sold|adopt(?:ed)?|met|moved|moving|live|lived|living|married"
    r"|getting|expecting|from|staying|stayed|run|ran"
    r"|went|visited|visiting|celebrat\w+|renovat\w+|split|broke|broken|grew|engaged|divorced|building|built|rent\w*"
    r"|travel\w*|flying|flew|keep|named|lost|won|work\w*|started|speak|eat|go (?:hiking|camping|sailing|there every"
    r"|to \w+ every)|been (?:married|together|living))\b",
    _I,
)
_WHEN_RE = LazyPattern(_WHEN, _I)

_OTHER_LANGUAGES = any_of(
    r"^(?:ich|wir) (?!wei(?:ß|ss)|glaube|denke|verstehe|meine|will,? dass|möchte,? dass|brauche hilfe)\w+ \w+"
    r"|^(?:mein|meine|unser|unsere) \w+ \w+|^ich bin \w+",
    r"^(?:yo )?(?:me llamo|soy|tengo|vivo|trabajo|estudio|nac[ií]|me gustan?|odio|mi \w+ (?:es|se llama|vive|tiene"
    r"|trabaja))(?! (?:una pregunta|que)\b) ?\w+",
    r"^(?:je (?!ne (?:sais|comprends)|sais|pense|crois|comprends|veux que)(?:m'|t'|\w+)|j'(?:ai|habite|aime|adore"
    r"|étudie|étais|ai \d+) ?|je m'appelle|mon \w+ \w+|ma \w+ \w+|mes \w+ \w+|nous (?:avons|sommes|habitons)) ?\w+",
    r"^(?:mi chiamo|sono (?:un|una|di|nato|nata|italian)|ho (?:\d+|due|tre|un|una)|vivo|abito|lavoro|mi piace|mio"
    r"|mia|me chamo|sou|tenho|moro|trabalho|gosto de|meu|minha)\b \w+",
    r"^(?:меня зовут|я (?!не знаю|думаю|знаю|понимаю)\w+|у меня|мой|моя|мы) \w*",
    r"(?:私|僕|俺|わたし|ぼく)(?:は|の|が|も)|^(?:我(?:叫|是|有|喜欢|喜歡|住|在|的)|我们)|^(?:나는|저는|제|내|난|전) ",
)


PLAIN = 2
LESS_CERTAIN = 1


def first_person_weight(clause: str, *, only_plain: bool) -> int:
    """`PLAIN` where *clause* plainly states something, `LESS_CERTAIN` where it may, else 0."""
    if IMPERATIVE.search(clause) and not re.search(r"^(?:please |just )?call me\b", clause, _I):
        return 0
    if _NOT_MINE.search(clause):
        return 0
    if _PLAIN.search(clause) and not _is_small_talk(clause):
        return PLAIN
    if only_plain:
        return 0
    return LESS_CERTAIN if _HERE.search(clause) or _tells_more(clause) else 0


def is_about_the_talk(clause: str) -> bool:
    """Whether *clause* only leads to what its speaker wants to say or ask."""
    verb = _I_VERB.search(clause)
    return verb is not None and re.match(_HAVE_TALK, verb["rest"], _I) is not None


def is_in_another_language(clause: str) -> bool:
    """Whether *clause* begins as a sentence about oneself does in one of the other languages that are known."""
    return bool(_OTHER_LANGUAGES.search(clause))


def _is_small_talk(clause: str) -> bool:
    """Whether a clause that reads like a fact is only about this conversation."""
    if re.match(r"you(?:'re| are|r)?\b(?! can call)", clause, _I):
        return True
    am = _I_AM.search(clause)
    if am is not None:
        return bool(_TALK_COMPLEMENT.search(am["rest"]))
    return is_about_the_talk(clause)


def _tells_more(clause: str) -> bool:
    """The less certain forms: anything else said in the first person that is not about this conversation."""
    if _ABOUT_CHAT.search(clause):
        return False
    if _I_CAN.search(clause) or _I_WANT.search(clause):
        return True
    if _I_WILL.search(clause):
        return bool(_WHEN_RE.search(clause))
    am = _I_AM.search(clause)
    if am is not None:
        if clause[:2].lower() == "we" and not _WE_TELL.search(clause):
            return False
        return not _TALK_COMPLEMENT.search(am["rest"])
    if clause[:3].lower() in ("my ", "our"):
        return bool(_MINE.search(clause))
    if re.match(r"we\b", clause, _I):
        return bool(_WE_TELL.search(clause))
    verb = _I_VERB.search(clause)
    if verb is None or _TALK_VERB.search(verb["rest"]):
        return False
    _, _, rest = verb["rest"].partition(" ")
    return bool(verb["habit"] and not rest) or not _VAGUE_OBJECT.search(rest)
