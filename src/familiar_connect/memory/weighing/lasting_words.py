"""Words by which a clause tells something that lasts: events of a life, health, people, work, places, likes, dates.

Each kind has a weight. A clause is read with the contractions that people leave the apostrophe out of put right, and
in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from familiar_connect.memory.weighing.vocabulary import GAME, ILLNESS, INSTRUMENT, JOBS, LANGUAGE, PASTIME, PET
from familiar_connect.support.lazy_pattern import LazyPattern

_I = re.IGNORECASE


def any_of(*patterns: str) -> LazyPattern:
    """One pattern that finds whatever one of *patterns* does."""
    return LazyPattern("|".join(f"(?:{pattern})" for pattern in patterns), _I)


RELATION = (
    r"(?:(?:step|half|grand|great|god|foster|twin|baby|ex|late|birth)[ -]?)?(?:mom|mum|mummy|mommy|mother|mama|ma|dad"
    r"|daddy|father|papa|parents?|folks|sisters?|brothers?|siblings?|bro|sis|wife|husband|hubby|spouse|partner"
    r"|boyfriend|girlfriend|bf|gf|fianc[eé]e?|ex|kids?|child|children|sons?|daughters?|babies|baby|twins?|toddlers?"
    r"|boys?|girls?|eldest|youngest|oldest|grandma|grandpa|grandad|granddad|gramps|gran|granny|nan|nana|oma|opa"
    r"|grandmother|grandfather|grandparents?|grandkids?|grandsons?|granddaughters?|grandchildren|aunts?|auntie"
    r"|uncles?|cousins?|nieces?|nephews?|famil(?:y|ies)|(?:mother|father|sister|brother)-in-law|in-laws?"
    r"|roomm?ates?|flatmates?|housemates?|(?:best|oldest|closest|old) friends?|bestie|neighbou?rs?|boss|coworkers?"
    r"|colleagues?)"
)
MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|apr|jun|jul"
    r"|aug|sept?|oct|nov|dec)"
)
_NUMBER = (
    r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?"
)
_BODY = (
    r"(?:arm|leg|ankle|wrist|hip|knee|foot|toe|finger|fingers|hand|rib|ribs|collarbone|shoulder|back|neck|nose|jaw"
    r"|elbow|spine|heart|kidney|liver|lung|lungs|eye|eyes|ear|ears|thyroid|appendix|tonsils|womb|prostate)"
)
_BE = r"(?:am|is|are|was|were|be|been|being|'m|'re|'s)"
_ADVERB = (
    r"(?:so|really|very|just|still|too|pretty|kinda|quite|also|all|totally|completely|actually|now|currently|only"
    r"|finally|even|definitely|probably|always|never|usually|often|sometimes|mostly|recently|already|once|both|not"
    r"|originally|officially|basically|apparently|secretly|almost|sorta|honestly|about|mainly)"
)

_LIFE_EVENT = any_of(
    # love and family
    r"\bproposed\b(?! (?:a |an |the |that|we |to (?!me|him|her|my|(?-i:[A-Z]))))|\bpopped the question\b"
    r"|\bsaid (?:yes|i do)\b(?! to)",
    r"\b(?:got|get|getting|gets|are|were|is|was|been|be|'re|'m|'s) (?:\w+ )?(?:engaged|married|divorced|separated"
    r"|widowed|remarried|hitched)\b|\b(?:married|divorced|eloped|widow(?:er|ed)?)\b|\bwedding\b(?! (?:dress|ads))",
    r"\b(?:broke|broken|split|breaking|splitting) up\b|\bdumped (?:me|him|her)\b|\bcheated on\b|\bleft (?:me|him"
    r"|her|us)\b"
    r"(?! (?:a|the|with|in|on|alone)\b)|\bdivorce\b|\bex-(?:wife|husband)\b|\bcustody\b|\bwalked out on\b",
    r"\b(?:left|leaving) (?:when i was|us when|my (?:mum|mom|mother|dad|father)|home at|the church|school at)\b",
    r"\b(?:together|a couple|a thing|an item|official|dating|going out|seeing (?:someone|somebody|each other|this))"
    r"(?= now| since| for \w+ (?:years|months|weeks)|$)|\bmet some(?:one|body)\b"
    r"|\bmov(?:ing|ed) in together\b",
    r"\blo?ves me\b|\bin love with (?:him|her|a |someone)\b|\bsaid it back\b|\basked me out\b|\bfirst date with\b"
    r"|\bdates? with (?:a|this|the) (?:guy|girl|man|woman|boy)\b|\bcame out\b(?= to| as)|\bfell in love\b",
    r"\b(?:maid of honou?r|best man|bridesmaid|godmother|godfather|down the aisle)\b",
    r"\bpregnant\b|\bexpecting (?:a|our|my|twins|in|again)\b|\bhaving (?:a baby|twins|a (?:boy|girl)|kids|another)\b"
    r"|\bhad (?:a|the|her|our|my) (?:baby|miscarriage|abortion|c-section)\b|\bmiscarr\w+|\bdue date\b|\bgave birth\b"
    r"|\b(?:is|are|was|were) born\b|\bborn (?:in|on|at|here|two|deaf|blind|premature|early)\b|\bwas born\b"
    r"|\bbaby is due\b"
    r"|\bit's (?:twins|a (?:boy|girl))\b|\bivf\b|\bwant(?:s|ed)? (?:kids|children|a baby|another (?:kid|child"
    r"|baby))\b",
    r"\badopt(?:ed|ing|ion)\b|\bfoster(?:ed|ing)?\b|\bgave me up\b|\braised (?:me|us|him|her|by)\b|\bgrew up\b"
    r"|\bbrought (?:me|us) up\b|\borphan\w*\b|\bbirth (?:mother|father|mum|mom|parents)\b",
    # death and harm
    r"\b(?:died|passed away|is dead|was killed|got killed|were killed|drowned|buried|funeral|suicide|stillborn"
    r"|overdosed|cremated)\b|\b(?:passed|passed on)\b(?= (?:in|last|when|on|two|away)|$)"
    r"|\b(?:lost) (?:my|his|her|our|their|the) (?:\w+ )?(?:mum|mom|mother|dad|father|baby|son|daughter|brother|sister"
    r"|wife|husband|nan|gran\w*|home|house|leg|arm|sight|job|hearing|licen[cs]e|faith)\b"
    r"|\bdid not live\b|\bdidn't (?:survive|live|make it through)\b|\bput (?:him|her|(?:the|our"
    r"|my) (?:\w+ )?\w+) (?:down"
    r"|to sleep)\b|\bfirst (?:tooth|steps?|words?)\b|\b(?:robbed|mugged|burgled|broken into|arrested|deported"
    r"|evicted|assaulted|sued)\b"
    r"|\b(?:car|motorbike|bike|bad|serious) (?:crash|accident)\b|\bhad an accident\b|\bin (?:prison|jail|rehab"
    r"|a coma)\b",
    # homes
    r"\bmov(?:ed|ing|es) (?:back |over |out |away |here |there |down |up )?(?:to|from|into|in with|in together|out|in"
    r"|abroad|home|here|onto|away)\b(?! (?:of )?(?:the|my|a|our) (?:couch|sofa|bed|floor|table|desk|chair|other|next"
    r"|kitchen|window|fridge|garden|left|right|front|back|way|corner|side|top|bottom|living)\b)",
    r"\bmove (?:back |out |away |over |down |up )?(?:to|in with|out|abroad|into|home)\b(?! (?:the|my) (?:couch|sofa"
    r"|bed))",
    r"\b(?:bought|sold|selling|buying|rent(?:ing|ed)?|signed (?:for|a lease)|found|lost|inherit\w*|build(?:ing)?"
    r"|built"
    r"|got|put an offer on|viewing|keep|renovat\w+|own|give up|closing|gave up|sell|took over|leas\w+)"
    r" (?:\w+ ){0,3}(?:house|flat|apartment|home|place|farm|shop|cabin|land|barge|boat|cottage|workshop|bakery|pub"
    r"|restaurant|business|company|studio|caravan)\b(?! (?:key|plant|party|for sale))",
    r"\bmortgage\b|\b(?:the |a |our |my )loan\b|\bevict\w+|\blandlord (?:\w+ )?(?:is selling|sold|wants us out"
    r"|found)\b"
    r"|\bbe out by\b|\bhomeless\b|\bsofa ?surf\w+\b",
    # work and school
    r"\b(?:got|landed|took|accepted|offered|lost|quit|quitting|leaving|left|starts?|started|starting|have|has|'ve got"
    r"|got offered|turned down|applied for|applying for|interviewed for)\b (?:\w+ ){0,4}?(?:jobs?|position|role|gig"
    r"|internship|apprenticeship|promotion|post|commission|scholarship|contract|traineeship)\b(?! done)"
    r"|\bnew job\b|\binterviewed at\b|\bjob interview\b|\bhand(?:ed|ing)? in (?:my|his|her) notice\b"
    r"|\bnotice period\b",
    r"\b(?:got|been|was|were|is|gets?|be) (?:\w+ )?(?:hired|fired|promoted|laid off|sacked|made redundant|accepted"
    r"|rejected"
    r"|elected|drafted|suspended|expelled|headhunted|tenured|knighted)\b|\bwent (?:bust|bankrupt|freelance|under)\b"
    r"|\bbankrupt\b|\bredundan\w+",
    r"\b(?:retir(?:ed|es|ing|ement)|resign(?:ed|s|ing)|graduat\w+|enrol\w+|dropp?ed out|drop out|failed out"
    r"|unemployed"
    r"|self-employed|freelanc\w+|apprentice\w*|matriculat\w+)\b",
    r"\b(?:applied|applying|accepted|admitted|got in|get in)\b (?:\w+ ){0,2}?(?:to|at|in|into|for)\b",
    r"\b(?:start(?:s|ed|ing)?|finish(?:es|ed|ing)?|quit|quitting|left|leaving|switch(?:ing|ed)?|chang(?:ing|ed))"
    r" (?:\w+ ){0,2}(?:school|uni|university|college|kindergarten|nursery|work|careers?|jobs?|degree|courses?|majors?"
    r"|phd|masters|apprenticeship|business|medication|chemo|therapy|treatment)\b",
    r"\b(?:i'll|i will|gonna|to|i) switch to\b|\bswitch to (?:days|nights|part)\b|\bopen(?:ed|ing) (?:a|my|our|his"
    r"|her)"
    r" (?:\w+ )?(?:shop|caf[eé]|restaurant|practice|bakery|studio|business|store|bar)\b|\bfounded\b",
    r"\b(?:signed up|training|train(?:ed|ing)) (?:for|as|to be)\b|\b(?:licen[cs]e|degree|diploma|phd|bachelor"
    r"|citizenship"
    r"|visa|asylum|green card|residence permit|registered (?:again|as))\b",
    r"\b(?:i'm|he's|she's|is|was|became|becoming|be|made) (?:the )?(?:new )?(?:deputy|head of|manager|team lead"
    r"|director"
    r"|principal|captain|chair|president|professor|partner at)\b",
    r"\b(?:fled|refugee|emigrat\w+|immigrat\w+|came (?:over|here|to \w+) (?:in|from|with|when|as)|escap(?:ed"
    r"|ing) from"
    r"|had to leave)\b",
    r"\bquit (?:smoking|drinking|alcohol|meat|sugar|coffee|gambling|weed|in \d)|\bsober\b(?! from arg)|\b(?:years"
    r"|months"
    r"|weeks|days) (?:clean|sober)\b|\bstopped (?:smoking|drinking|eating meat)\b|\brelapsed\b|\bi quit\b(?! uni to)",
    r"\bwrite to\b(?=.*\b(?:sister|brother|father|mother)\b)|\b(?:no(?:t| longer)|haven't|hasn't|don't|never"
    r"|have not|has not)"
    r" (?:\w+ ){0,2}?(?:spoken|talked|speak|talk|spoke|seen)\b.*\b(?:since|in years|for years|any ?more)\b",
    r"\bwon (?:the|a|an|first|second|our|my|gold|silver)\b(?! (?:game|round|match))|\b(?:passed|failed|sat"
    r"|aced) (?:my|the|his|her) (?:\w+ )?"
    r"(?:exams?|test|driving|finals|bar|theory)\b|\b(?:crashed|totall?ed|wrecked) (?:my|the|his|her)\b|\b(?:stole"
    r"|stolen)\b"
    r"|\bran (?:a|my|the) (?:\w+ )?(?:marathon|half|10k|5k|ultra)\b|\b(?:finished|published|handed in"
    r"|submitted) (?:my|the|his|her|a) "
    r"(?:\w+ )?(?:book|novel|thesis|degree|dissertation|paper|album|masters|phd)\b|\b(?:flooded|burn(?:ed|t) down"
    r"|caught fire)\b"
    r"|\bgot (?:a|my|our|the) (?:\w+ )?(?:tattoo|licen[cs]e|puppy|kitten|dog|cat|keys to|results)\b"
    r"|\bfell out with\b|\bfalling out\b",
    r"\bwe met (?:on|at|in|through|when|during|online|while)\b|\b(?:got|was|been|were) (?:bitten|hit by|struck|shot"
    r"|stabbed|bullied)\b"
    r"|\b(?:goes|go|went|going) to (?:\w+ )?(?:kindergarten|nursery|uni|university|college|boarding school)\b"
    r"|\byear abroad\b"
    r"|\bwriting (?:a|my) (?:\w+ )?(?:book|novel|thesis|memoir)\b|\binherit\w+|\bin debt\b|\bnamed after\b",
    r"\b(?:decided|decision) (?:to|on|against)\b|\bmade up my mind\b|\bput my name (?:on|down)\b|\b(?:promised"
    r"|swore) (?:my|the"
    r"|him|her|them|myself)\b|\bnamed (?:him|her|it|them|after|my|our)\b|\b(?:novel|book|manuscript|album|script"
    r"|thesis)\b.*\b(?:turned down|rejected|accepted|published|printed)\b|\bmy will\b|\bnotary\b|\bmy last will\b",
)

_HEALTH = any_of(
    rf"\b{ILLNESS}\b(?! (?:to|of) )",
    r"\ballerg\w+|\bintoleran\w+|\bc(?:o)?eliac\b|\bgluten\b|\blactose\b|\bdiabet\w+|\basthma\w*|\bmigraines?\b"
    r"|\bepilep\w+"
    r"|\bseizures?\b|\bcancer\b|\btumou?r\b|\blupus\b|\barthrit\w+|\bpacemaker\b|\bsurger(?:y|ies)\b|\binsulin\b"
    r"|\bblood (?:thinners?|pressure|sugar|clot)\b|\bana?emi[ac]\b|\bthyroid\b|\bhashimoto\w*|\bdepress(?:ion|ed"
    r"|ive)\b"
    r"|\banxiety\b|\bpanic attacks?\b|\badhd\b|\bautis\w+|\bon the spectrum\b|\basperger\w*|\bdyslexi\w+|\bdeaf\b"
    r"|\bblind\b|\bcolou?r ?blind\b|\bbipolar\b|\bptsd\b|\bocd\b|\btherap(?:y|ist)\b|\bdementia\b|\balzheimer'?s?\b"
    r"|\bparkinson\w*|\bstroke\b(?! of)|\bheart (?:attack|condition|failure|disease|surgery|rate)\b|\barr?h?ythmia\b"
    r"|\bscoliosis\b|\bcataracts?\b|\bmeningitis\b|\bfracture\w*|\bligaments?\b|\bconcussion\b|\bhernia\b"
    r"|\bslipped disc\b"
    r"|\bwheelchair\b|\bcrutches\b|\bhearing aids?\b|\bprosthe\w+|\bamputat\w+|\bchemo\w*|\bdialysis\b"
    r"|\btransplant\w*"
    r"|\binfusions?\b|\bmedication\b|\bantidepressants?\b|\bepi ?pen\b|\bpenicillin\b|\baspirin\b|\bibuprofen\b"
    r"|\bantibiotics?\b|\bdiagnos\w+|\bchronic\w*|\binsomnia\b|\bsleep apn\w+|\bibs\b|\bcrohn\w*|\bendometriosis\b"
    r"|\bpcos\b|\bpsoriasis\b|\beczema\b|\bhay ?fever\b|\bleuka?emia\b|\bhiv\b|\bms\b(?= since| for)"
    r"|\bmultiple sclerosis\b"
    r"|\bdisab(?:led|ility)\b|\bstutter\w*|\bleft-?handed\b|\bseasick\b|\bcarsick\b|\btravel sick\w*"
    r"|\bclaustrophob\w+"
    r"|\b\w+phobi[ac]\b|\bafraid of heights\b|\bmenopause\b|\beating disorder\b|\banorexi\w+|\balcoholic\b"
    r"|\baddict(?:ion|ed)?\b"
    r"|\bgout\b|\bglaucoma\b|\bshingles\b|\bosteoporosis\b|\blymphoma\b|\bmelanoma\b|\bnut allergy\b|\banaphyla\w+"
    r"|\brheumat\w+|\bkidney (?:stones?|failure|disease)\b|\bon the pill\b|\btinnitus\b|\bvertigo\b|\bcare home\b"
    r"|\bnursing home\b|\bhospice\b|\bin hospital\b|\brehab\b|\bphysio\w*\b",
    rf"\b(?:broke|broken|tore|torn|sprained|twisted|fractured|dislocated|shattered|lost) (?:\w+ ){{0,2}}{_BODY}\b"
    rf"|\b{_BODY} (?:\w+ ){{0,2}}(?:replaced|operated|removed|taken (?:off|out)|pinned|amputated|done|transplant)\b"
    rf"|\bbad {_BODY}\b(?= from| since)|\boperation\b|\boperated on\b|\bhad (?:a|the|his|her) fall\b|\bsince (?:my"
    rf"|the"
    r"|his|her) (?:stroke|accident|surgery|operation|illness|diagnosis|fall|crash)\b|\bit was (?:his|her) heart\b"
    r"|\btests? came back (?:positive|negative)\b|\btablets? (?:every|for life|twice)\b|\bfor life\b|\bhas sugar\b",
    r"\b(?:i|he|she|they) (?:take|takes|need|needs) (?:\w+ )?(?:pills|tablets|meds|medicine|drops|injections"
    r"|insulin)\b",
    r"\b(?:vegan|vegetarian|veggie|pescatarian|halal|kosher|teetotal\w*)\b",
    r"\b(?:can't|cannot|mustn't|must not|don't|doesn't|do not|never|can not|not allowed to"
    r"|not supposed to) (?:\w+ )?(?:eat"
    r"|eaten|eats|drink|take|touch|tolerate|digest)\b (?:(?!it\b|that\b|this\b|to\b|a clue|time|any idea|the time"
    r"|time"
    r"|it$)\w+)",
    r"\b(?:can't|cannot|must not|not allowed to) have (?!it\b|that\b|this\b|a \b|nice)\w+|\bswell(?:s)? up\b"
    r"|\bbreak out in hives\b|\bhives\b|\bno (?:more )?(?:pork|alcohol|gluten|dairy|salt|sugar|nuts|meat)\b"
    r"|\bpork\b",
)

_IDENTITY = any_of(
    r"^(?:my|the)? ?(?:full |real |first |last |middle |nick)?name(?:'s| is| was)\b|\b(?:his|her|its"
    r"|their) names? (?:is|was"
    r"|are)\b|\bname(?:'s| is) \w+",
    r"\bcalls? me (?!crazy|later|back|maybe|when|if|tomorrow|a |an |the |old|stupid|out|on)\w|\bto be called\b"
    r"|\bshort for\b|\bgo by\b|\bpeople call me\b|\bknown as\b",
    rf"\b(?:i'm|he's|she's|they're|i am|he is|she is|is|was|'s|turn(?:s|ed|ing)?|be) (?:{_ADVERB} )*\d{{1,2}}\b"
    r"(?! ?(?:min|%|degrees|of|hours?|km|kg|euros?|pounds?|°|:|pm|am|times|people|percent|in a row|nil|c\b))",
    rf"\b(?:{_NUMBER}) years? (?:old|younger|older)\b|\bturn(?:s|ed|ing) (?:{_NUMBER})\b|\bmy (?:birthday|bday|age)\b"
    rf"|\b(?:he's|she's|he is|she is|i'm|i am|'ll be|will be) (?:{_ADVERB} )*(?:{_NUMBER})\b(?= and| now| on| in"
    rf"| till|,|$)",
    r"\bbirthday (?:is|was|on)\b|\b(?:girl|boy|son|daughter|kid) of (?:\w+)$|\bi(?:'m| am) (?:from|half)\b"
    r"|\bborn and raised\b"
    r"|\bcomes? from\b|\b(?:is|'s|was) from\b|\boriginally from\b|\bcitizen\b|\bnationality\b|\bmy pronouns\b"
    r"|\bzodiac\b|\b(?:she|he|they)/(?:her|him|them)\b"
    r"|\b(?:mother|mum|mom|dad|father|parent|grandmother|grandfather) (?:of|to) (?:\w+)\b|\bi'm an? (?:\w+ )?(?:mum"
    r"|mom|dad|mother|father|twin)\b"
    r"|^(?:it's |this is )?(?-i:[A-Z])[a-z]+ here\b|\b(?:i'm|i am) (?:called|named)\b",
    r"\b(?:gay|lesbian|bisexual|bi|queer|trans|transgender|non-?binary|asexual|straight)\b(?! away| up| to)"
    r"|\b(?:muslim|christian|catholic|protestant|jewish|hindu|buddhist|atheist|orthodox|sikh|baptised|baptized"
    r"|religious"
    r"|quaker)\b|\bone of (?:two|three|four|five|six|seven|eight|nine|ten)\b|\bonly child\b|\b(?:the )?(?:eldest"
    r"|youngest|oldest)"
    r" of\b|\bmother tongue\b|\bnative (?:language|speaker)\b",
)

_KINSHIP = any_of(
    rf"\b(?:my|our|his|her) (?:[\w-]+ ){{0,2}}?{RELATION},? (?-i:[A-Z])[a-z]+",
    rf"^(?:my|our|his|her) (?:[\w-]+ ){{0,2}}?(?:{RELATION}|{PET}) (?:is|was|are|'s) (?:called "
    rf"|named )?(?-i:[A-Z])[a-z]+$",
    rf"\b(?:is|was|'s|are) (?:my|our) (?:[\w-]+ ){{0,2}}?(?:{RELATION}|{PET})\b",
    r"^i'm (?-i:[A-Z])[a-z]+\W*$",
)

_WORK = any_of(
    rf"\b{_BE} (?:{_ADVERB} )*(?:an? |the |my |our )(?:[\w'-]+ ){{0,3}}?{JOBS}s?\b"
    rf"|\bused to be (?:an? )?(?:[\w-]+ ){{0,2}}?\w+"
    rf"|\b(?:as|be|become|became|becoming) an? (?:[\w-]+ ){{0,2}}?{JOBS}\b|\bof a {JOBS}\b|\b{JOBS} (?:for|since"
    rf"|in) \w+",
    r"\b(?:work|works|worked|working) (?:as|at|in|for|with|on (?:a|the) (?:farm|ward|ship|railway)|part-time"
    r"|full-time|nights|from"
    r" home|there|here|freelance|remote\w*)\b(?! (?:me|you|it|tonight|today|this|that|now|6|7|8|9|the weekend"
    r"|progress)\b)",
    r"\bpays? (?:my|the|our) (?:rent|bills)\b|\bfor a living\b|\b(?:my|his|her|our) (?:job|profession|career"
    r"|apprenticeship|phd|thesis|degree|major|dissertation)\b"
    r"(?! done| is (?:boring|killing|hell))",
    r"\b(?:i|he|she|they|we|who|wife|husband|mother|mum|mom|dad|father|sister|brother|and) (?:also |still |mostly "
    r"|now )?(?:teach"
    r"|teaches|taught|study|studies|studied|build|builds|make|makes|repair|repairs|drive|drives|drove|run|runs|own"
    r"|owns|"
    r"owned|ran|do|does|manage|manages|coach|coaches|breed|breeds|farm|farms|sell|sells|design|designs|write|writes"
    r"|train"
    r"|trains|grow|grows)\b (?:(?:an?|the|some|their|his|her|my|our|old|year|in|for|at|as|on|little) )?"
    r"(?:\w+ )?(?:taxi|cab|truck|lorry|bus|ambulance|tram|shop|stall|store|caf[eé]|business|company|farm|gym|school"
    r"|kids|children"
    r"|maths|english|piano|violin|guitar|music|art|yoga|history|physics|chemistry|law|medicine|biology|harpsichords"
    r"|furniture|"
    r"instruments|bikes|cars|boats|houses|bread|cakes|dhl|ups|fedex|amazon|uber|backend|frontend|stuff at|design"
    r"|books|"
    r"software|websites|games|team|under|u\d+|class|year \d|grade|vegetables|bees|wine|beer|saris|shoes|clothes)\b",
    r"\b(?:studying|study|studied|studies|majoring|majored|semester (?:of|in)|reading) (?:to be |for )?(?!for the"
    r"|it|this|that|the|now)"
    r"[a-z]+|\b(?:first|second|third|last|final) (?:semester|year)\b|\bmechanical engineering\b|\bexchange (?:year"
    r"|student)\b|\berasmus\b",
    r"\b(?:ward|shop|studio|practice|firm|startup|start-up|company|office|hospital|university|uni|school|academy"
    r"|conservatory)\b"
    r"(?=.*\b(?:years?|since|in|for|at|starts?|started|from)\b)",
    rf"\b{_BE} (?:{_ADVERB} )*in (?:it|hr|finance|marketing|sales|retail|insurance|construction|banking|logistics"
    rf"|the army"
    r"|the navy|real estate|publishing|advertising|tech)\b|\bon (?:the same team|a team)\b|\bon (?:a|the) team of\b",
)

_PLACE = any_of(
    r"\b(?:flat|house|room|apartment) is (?:\w+ )?(?:above|near|opposite|next to|in)\b|\b(?:live|lives|lived"
    r"|living) (?:in|on|at|with|near|by|above|alone|here|next|just|down|up|over|there|abroad|off|round|around"
    r"|together|by myself|opposite|across|out|under)\b(?! (?:that tub|a dream|fear|the moment))",
    r"\b(?:house|flat|apartment|room|farm|cabin|cottage|place|home|garden|shed) (?:\w+ )?(?:in|on|near|by|above|at"
    r"|outside) "
    r"(?:(?-i:[A-Z])|the (?:country|city|coast|sea|mountains|woods|village)|a (?:village|town|bakery))",
    r"\b(?:rooms?|square met(?:er|re)s|storey|bedrooms?|two beds|m2)\b(?=.*\b(?:in|live|have|flat|we're|garden"
    r"|house)\b)"
    r"|\b(?:we're|we are|i'm) in (?:\w+ )?(?:square|a (?:flat|house|bedsit|village))",
    r"\b(?:she's|he's|they're|is|are) (?:down |up |over |out )?in (?-i:[A-Z])\w+|\bhome ?town\b|\b(?:tiny|small"
    r"|little) (?:village|town)\b"
    r"|\b(?:he's|she's|they're|i'm|is|are|we're) based in\b|\bin (?:the|a|an) (?:home|care home|nursing home"
    r"|village|barge)\b"
    r"|\b(?:for good|permanently)\b|\bnear [a-z]{4,}\b(?=.*\b(?:village|farm|house|from|grew|live)\b)",
    r"\b(?:stay|staying|stays) (?:in this house|at a|with us|with me|with my|put)\b|\bkeys? to (?:my|our|the|his"
    r"|her) (?:house|flat"
    r"|place|apartment)\b|\bspare keys?\b|\bemergency contact\b",
)

_LIKING = any_of(
    r"\bfavou?rite\b|\bfave?\b(?= )|\bi (?:\w+ )?(?:love|loved|adore|enjoy|prefer|detest|despise|loathe|dislike)\b"
    r"(?! (?:it|that|this|these|those|you|u|your|how|when|what|where|the (?:way|idea|sound|part|new)|to (?:hear"
    r"|know|see)|so|him"
    r"|her|them|all of|being)\b)",
    r"\bi(?:'ve|'d)? (?:really |always |never |don't |do not |didn't |used to |kinda |also |still |only "
    r"|just )*(?:like|liked"
    r"|hate|hated)\b"
    r"(?! (?:it|that|this|these|those|you|u|your|how|when|what|where|everyone|everything|everybody|the (?:way|idea"
    r"|sound|part|new|fact"
    r")|to (?:hear|know|see|say|be|ask|admit)|so|him|her|them|being|my life|myself|mondays?|tuesdays?|wednesdays?"
    r"|thursdays?|fridays?"
    r"|sundays?|mornings?|people|weather|rain|winter|traffic|meetings?|a (?:wet|dead|zombie)|an idiot|adulting)\b)",
    r"\b(?:can't|cannot|could never) (?:stand|abide|bear|tolerate)\b(?! (?:it|this|that|him|her|them|you)\b)"
    r"|\bnot a fan of\b|\ba (?:huge |big )?"
    r"fan of\b|\b(?:don't|doesn't|never|do not|does not) (?:much |really )?(?:care for|like|cared for)\b(?! (?:it"
    r"|that|this|you|him|her|them"
    r"|being|the (?:look|sound))\b)|\ballergic to\b|\b(?:obsessed|addicted|into) (?:with|to)?\b(?=.*\b(?:lately"
    r"|since|trains|football|chess"
    r"|dinosaurs|space|music|books|games|climbing)\b)|\bi'm (?:really |so |very |super )?into \w",
    r"\b(?:scared|afraid|terrified|frightened|fear) of\b(?! (?:it|that|this|you|what|him|her|them|myself"
    r"|the dark again)\b)|\bphobia\b",
    r"\b(?:loves?|likes|hates|adores|prefers|enjoys|collects) (?!it\b|that\b|this\b|you\b|me\b|us\b|to be\b|him\b|her\b"
    r"|them\b)\w+",
    r"\bprefer\w*\b|\bmy (?:hobby|hobbies|passion|dream|thing is|guilty pleasure|comfort food)\b|\bcan(?:not"
    r"|'t) (?:still )?(?:not )?throw"
    r" away\b|\btext me\b.*\balways\b|\balways\b.*\btext me\b|\bplease (?:always|never)\b|\bnever (?:call|phone"
    r"|ring) me\b",
    r"\bno [\w ]{3,30} for me\b|\bi (?:take|have|drink|like) my (?:coffee|tea|eggs|steak)\b|\bwithout (?:milk"
    r"|sugar)\b|\bi don't (?:eat|drink|do)\b"
    r"|\btastes like soap\b|\bi only (?:drink|eat|wear|read|listen)\b|\bi want (?:him|her|them|my \w+) to\b",
)

_HABIT = any_of(
    r"\b(?:every|each) (?:other |second |single )?(?:day|week|weekend|month|year|sunday|monday|tuesday|wednesday"
    r"|thursday|friday|saturday"
    r"|morning|evening|night|summer|winter|christmas|easter)\b|\bon (?:mon|tues|wednes|thurs|fri|satur|sun)days\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b(?! (?:again|suck))|\b(?:once|twice|three times"
    r"|\d times) (?:a|per) (?:week|month"
    r"|year|day)\b|\bevery other weekend\b",
    r"\b(?:play|plays|played|playing|learn|learns|learning|learnt|learned) (?:the |a |to play )?"
    rf"(?:{INSTRUMENT}|{GAME}|in (?:a|an|the) \w+)\b",
    r"\b(?:i'm|been|i am|he's|she's) (?:learning|teaching myself|practising|training for) \w+|\btak(?:e|es"
    r"|ing) (?:\w+ )?lessons\b",
    r"\bwhenever (?:i|he|she|we)\b|\b(?:my|our) (?:team|club|church|mosque|choir|gym|band|side) is\b"
    r"|\b(?:i|he|she|we|they) (?:always|usually|often|mostly|rarely|normally|only ever) (?!said|thought|knew|forget"
    r"|get|feel|say|think|wonder)[a-z]+\b"
    r"|\b(?:i|he|she|we) (?:go|goes) (?:to the (?:gym|pool|mosque|church)|hiking|climbing|swimming|running|sailing"
    r"|fishing|dancing|camping"
    r"|cycling|riding|skiing|surfing|diving|bouldering)\b|\b(?:choir|orchestra|(?:a|my|the|our|his|her|funk|rock"
    r"|jazz|punk|metal|cover) band|theatre group|book club|football team|volunteer\w*"
    rf"|sings? in|sung in|{PASTIME})\b",
    r"\b(?:i|he|she|we|they) (?:collect|collects|knit|knits|paint|paints|draw|draws|bake|bakes|garden|gardens|climb"
    r"|climbs|hike|hikes"
    r"|surf|surfs|ski|skis|sail|sails|run|runs|swim|swims|cycle|cycles|dance|dances|fish|fishes|hunt|hunts|sew|sews"
    r"|box|boxes|brew"
    r"|coach|coaches|ride|rides|volunteer|volunteers|meditate|smoke|smokes)\b(?! (?:out|away|back|into|off|it|up)\b)",
    rf"\b(?:speak|speaks|spoke|fluent in) (?:\w+ )?{LANGUAGE}\b"
    r"|\bsign language\b|\bcan read\b|\bcan(?:'t|not)? (?:swim|drive|cook|ride a bike|whistle|read|speak|sing"
    r"|dance)\b"
    r"|\b(?:taught|teaching|teaches) (?:me|him|her|us|myself)\b",
)

_DURATION = any_of(
    rf"\bfor (?:about |over |almost |nearly |more than |the (?:last|past) )?(?:{_NUMBER}) (?:years|months"
    rf"|decades)\b|\bsince (?:\d{{4}}|i was|he was"
    r"|she was|childhood|uni|school|birth|christmas|easter|january|february|march|april|june|july|august|september"
    r"|october|november"
    r"|december|last (?:year|summer|winter|spring|autumn)|then|kindergarten|forever|my|the (?:divorce|accident"
    r"|split|war|stroke|surgery)"
    r"|dad's|mum's|mother's|father's|the \d0s)\b",
    rf"\b(?:{_NUMBER}) years? (?:now|ago|in (?:{MONTH})|together|of marriage|today|already|and)\b"
    rf"|\b(?:{_NUMBER}) years\b|\b(?:in|of|from) (?:the )?"
    r"(?:19|20)\d\d\b|\b(?:19|20)\d\d\b|\bin the \d0s\b|\bwhen (?:i|he|she|we) (?:was|were) (?:a (?:kid|child|baby"
    r"|boy|girl|teenager)|born|"
    rf"little|young|small|at (?:school|uni)|like \d+|about \d+|{_NUMBER})\b|\bas a (?:kid|child|boy|girl|teenager"
    rf"|baby|student)\b",
    r"\bnever been to\b|\bused to\b|\bin my (?:whole )?life\b|\bmy whole life\b|\ball my life\b"
    r"|\bmy (?:whole )?childhood\b|\bback in \w+\b|\bmost of my life\b"
    r"|\blifelong\b|\b(?:no|not any) (?:longer|more)\b|\banymore\b|\bany more\b|\bthese days\b|\buntil (?:i|we|he"
    r"|she|they)\b|\bfrom now on\b"
    r"|\bat (?:school|kindergarten|uni) together\b|\bto school together\b|\bsince we were\b|\bfor (?:ages|decades"
    r"|generations)\b",
)

_EXACT_DATE = any_of(
    rf"\b(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}\b|\b{MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b"
    rf"|\b(?:the|by the|on the|of the|weekend"
    r" of the) \d{1,2}(?:st|nd|rd|th)\b|\bthe (?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth"
    r"|eleventh|twelfth"
    rf"|thirteenth|fourteenth|fifteenth|twentieth|thirtieth) of {MONTH}\b",
)

_DATE = any_of(
    r"\b(?:in|by|until|till|from|since|end of|start of|beginning of|mid|for|this|next|last|of|early|late|on"
    r"|coming in|before)"
    rf" (?:{MONTH})\b(?! i\b)|\b(?:next|this) (?:year|spring|summer|autumn|winter|semester|term|christmas|easter)\b"
    rf"|\bnext (?:month|week)\b"
    r"|\b(?:in|from|by) (?:spring|summer|autumn|winter|fall)\b|\b(?:in|over) (?:two|three|four|five|six"
    r"|\d+) (?:weeks|months|years)\b"
    r"|\bover (?:christmas|easter|the bank holiday|the holidays)\b|\bone day\b(?=.*\b(?:go to|will|be)\b)"
    r"|\bmy (?:due date|birthday)\b",
)

_PLAN = any_of(
    r"\b(?:going|gonna|plan(?:ning|s|ned)?|intend(?:s|ing)?|want(?:s|ed)?|hop(?:e|es|ing)|thinking|considering"
    r"|about|will|shall|'ll|have|has"
    r"|dream(?:s|ing)?|would love|would like|apply(?:ing)?|booked|sav(?:e|ing)) (?:to |of |about "
    r"|up )?(?:\w+ )?(?:be|become|becoming|moving"
    r"|move|marry|marrying|learn|learning|visit|visiting|adopt|adopting|retire|retiring|study|studying|quit"
    r"|quitting|sell|selling|buy"
    r"|buying|open|opening|travel|travelling|emigrate|apply|start a|switch|sheffield|sit(?:ting)?|inherit"
    r"|get (?:a (?:dog|cat|puppy"
    r"|divorce|degree)|married|registered)|make the|stay(?:ing)?|go to \w+)\b(?! (?:quiet|honest|fair|sick|late"
    r"|able|fine|ok|back|there|right|"
    r"milk|a sandwich|coffee|food|it\b|here\b))",
    r"\b(?:arriv(?:es|ing)|com(?:es|ing)|fl(?:ies|ying)|visit(?:s|ing)?|leav(?:es|ing)|mov(?:es|ing)|start(?:s"
    r"|ing)?|going (?:up|down|over|to)|pick"
    r" (?:her|him|it|them) up|due|decide|stays?) (?:\w+ ){0,5}?(?:in|on|by|for|from|over|at|next|the)\b",
)

_OCCASION = any_of(
    r"\b(?:appointment|exam|interview|wedding|surgery|operation|scan|trial|gig|concert|funeral|graduation|flight"
    r"|deadline|portfolio|court"
    r"|hearing|anniversary|test results|moving day|reunion|christening|baptism|viewing|ceremony|venue|audition"
    r"|competition|tournament|race"
    r"|honeymoon|holiday|trip)\b",
)

_OWNING = any_of(
    rf"\b(?:have|has|had|got|'ve got|'s got|own|owns|keep|keeps|adopted|getting|bought|there's|with|two"
    rf"|three) (?:[\w'-]+ ){{0,4}}?(?:{PET})\b",
    r"\b(?:called|named)\b(?! (?:me|it|off|in|back|you|him|her|them|out|the|us|for|an? )\b)|\b(?:he|she"
    r"|it) is called\b",
    r"\b(?:have|has|'ve|'s|bought|sold|selling|sell|drive|drives|inherited|wear|wears|own"
    r"|owns) (?:got )?(?:\w+ ){0,3}?(?:car|motorbike|bike|bicycle|van"
    r"|boat|piano|guitar|violin|cello|camper|caravan|glasses|contacts|tattoo|tattoos|allotment|ring|volvo|bmw|tesla"
    r"|toyota|ps\d|xbox|pixel|iphone)\b",
    r"\b(?:have|has|'ve got|'s got|had|having|there (?:are|were|was)) (?:[\w'-]+ ){0,3}?"
    rf"(?:{RELATION})\b(?! (?:over|round|here|screaming))",
    r"\b(?:have|has|had|'ve got|'s got) (?:\w+ ){0,3}?(?:house|flat|farm|garden|shop|cabin|allotment|workshop"
    r"|vineyard|restaurant|company)\b"
    r"|^(?:my|our) (?:[\w-]+ ){1,4}?(?:is|are|was) (?:on|at|in|above|near|number|called|named|from) (?!the way|fire"
    r"|strike|sale|a mess|my)\w"
    r"|^(?:my|our) (?:[\w-]+ ){1,3}?(?:has|have) (?:\d+|an?|two|three|four|five|six|many|no) \w"
    r"|\b(?:it was|was) (?:his|her|my) (?:grand)?(?:mother|father|mum|dad)'?s\b|\bheirloom\b",
)

LASTING: Mapping[str, tuple[int, LazyPattern]] = MappingProxyType(
    {
        "event": (3, _LIFE_EVENT),
        "health": (3, _HEALTH),
        "identity": (3, _IDENTITY),
        "kinship": (2, _KINSHIP),
        "work": (3, _WORK),
        "place": (3, _PLACE),
        "liking": (3, _LIKING),
        "habit": (2, _HABIT),
        "duration": (2, _DURATION),
        "exact date": (3, _EXACT_DATE),
        "date": (2, _DATE),
        "plan": (1, _PLAN),
        "occasion": (1, _OCCASION),
        "owning": (2, _OWNING),
    }
)
STRONG = frozenset({"event", "health", "identity"})
"""Kinds that what fades cannot outweigh so easily."""
OF_THE_SENTENCE = frozenset({"habit", "duration", "date", "exact date"})
"""Kinds that count wherever in a sentence they stand."""
ONLY_WHEN = frozenset({"duration", "date", "exact date"})
"""Kinds that say when something is, and by themselves tell little of what."""
