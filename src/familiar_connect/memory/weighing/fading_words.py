"""Words by which a clause tells what is over tomorrow: moods, weather, gadgets, meals, journeys, games and chores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from familiar_connect.memory.weighing.lasting_words import any_of

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
_REPORT = any_of(
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
_YOU = re.compile(
    r"\b(?:you|u|your|ur|ya|yours|yourself|you're|you'll|you've|everyone|everybody|guys|folks)\b(?! know\b"
    r"| can call)",
    re.IGNORECASE,
)

FADING: Mapping[str, tuple[int, re.Pattern[str]]] = MappingProxyType(
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
        "report": (4, _REPORT),
        "laughter": (1, _LAUGHTER),
        "peeve": (4, _PEEVE),
        "hyperbole": (5, _HYPERBOLE),
        "you": (2, _YOU),
    }
)
NEVER_SPARED = frozenset({"hyperbole", "peeve", "report"})
"""Kinds that no event of a life outweighs."""
