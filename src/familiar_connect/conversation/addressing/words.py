"""Words that show whether a name beside them is called or talked about, in the languages people chat in.

They are compared folded, as names are. One list serves all languages: a word that would mislead in another is left out.
"""

from __future__ import annotations

from familiar_connect.support.text import fold_name


def _words(text: str) -> frozenset[str]:
    return frozenset(fold_name(text).split())


YOU = _words(
    """you u ur your youre you're yourself yours ya y'all yall you'll you've you'd ure youve youd youll thou
    du dir dich dein deine deinen deiner deinem ihr euch dus
    tu toi te t'es t'as ton vous votre vos tes
    tú ti contigo usted vos tienes puedes sabes quieres eres estás piensas crees opinas
    sei hai puoi sai vuoi pensi credi vuoi tua tuo dici
    você vc voce tua teu contigo cê
    jij jou jouw je u uw
    ty tobie ciebie cię tobą twoje twoja twój możesz masz wiesz chcesz jesteś ci
    dig din ditt dina ni er
    sen seni sana senin siz size misin mısın musun müsün misiniz
    ты тебе тебя тобой твой твоя твоё вы вам вас можешь знаешь хочешь думаешь помнишь
    ти тобі тебе тобою твій твоя ви вам вас можеш знаєш хочеш думаєш
    أنت انت أنتِ أنتم رأيك لك عندك تعرف تعرفين
    तुम तू आप तुम्हें तुम्हारा तुम्हारी आपको आपका आपकी तुमने तुझे
    bạn mày cậu em anh chị
    kamu kau anda lo lu mu engkau kalian
    εσύ εσυ σου σε εσένα εσείς σας είσαι θέλεις λες ξέρεις μπορείς θυμάσαι
    tobě tebe tě ti tvůj tvoje jsi máš víš chceš můžeš vy vám vás"""
)
"""Whoever hears it. Where verbs say it alone, the common ones."""

GREETINGS = _words(
    """hi hey hello hiya heya yo sup howdy morning mornin evening night nite gn gm afternoon goodnight goodmorning
    welcome back thanks thank thx ty tysm thnx cheers bye goodbye cya later sorry sry congrats congratulations
    birthday bday gg wb oi ahoy ohayo heya hola gracias adiós buenos buenas días noches tardes perdón
    perdona felicidades
    hallo moin servus tag morgen abend nacht danke dankeschön tschüss entschuldigung sorry glückwunsch
    geburtstag willkommen
    salut bonjour bonsoir merci coucou pardon désolé désolée bienvenue anniversaire bonne nuit
    ciao buongiorno buonasera buonanotte grazie scusa salve benvenuta benvenuto auguri
    oi olá ola obrigado obrigada valeu tchau desculpa noite tarde dia bom boa parabéns
    hoi dag dankjewel dankje bedankt welterusten goedemorgen goeiemorgen goedemiddag goeiemiddag goedenavond
    goeienavond doei
    hej cześć czesc siema dzięki dziękuję wielkie siemka dobranoc witaj pa przepraszam dobry wieczór
    hejsan tjena tack godnatt godmorgon förlåt grattis välkommen
    merhaba selam teşekkürler sağol eyvallah günaydın geceler gecesi özür
    приветик прив здравствуй здравствуйте спасибо пока ночи утро утра вечер извини прости спокойной доброе
    добрый
    привіт дякую вибач добраніч ранку вітаю
    مرحبا شكرا أهلا اهلا سلام
    नमस्ते धन्यवाद शुक्रिया हाय प्रणाम
    chào ơn xin
    halo hai makasih terima kasih selamat pagi malam maaf
    γεια καλημέρα καληνύχτα καλησπέρα ευχαριστώ συγγνώμη πολύ
    ahoj čau čus díky moc děkuji dobrou dobré ráno promiň dobrý večer
    moikka moi hei heippa terve huomenta iltaa öitä kiitos anteeksi onnea
    szia sziasztok köszi köszönöm jó reggelt estét éjszakát bocs
    bună salutare mulțumesc noapte seara scuze
    tak takk godmorgen godaften unnskyld tillykke velkommen"""
)
"""What is said right before the name of whom one greets, thanks or begs pardon; their last words."""

OPENERS = GREETINGS | _words(
    """ok okay k kk oh ah aw aww uh um hmm hm so well now no nope nah yes yeah yep yup but and or wait please
    pls plz dear
    sweet lol lmao haha omg ugh wow also anyway btw actually listen look right alright fine good great
    damn dude bro oof
    very much so lots many really come on hold there just sure yea yeh ehh eh idk dunno hmm nope aye true same
    ja nein doch aber und also na ach bitte liebe lieber guten gute gut
    mais non oui alors bon bah ok cher chère
    sí pero bueno oye favor querida querido
    ma sì allora dai senti cara caro
    mas não sim então
    nee maar en nou ach lieve
    nie tak ale no więc
    nej men och jo snälla
    hayır evet ama ya peki lütfen iyi
    нет да но ну так слушай пожалуйста дорогая
    ні так але ну слухай
    لا نعم لكن يا
    नहीं हाँ पर और अरे
    không có nhưng mà này
    nggak iya tapi dan eh
    όχι ναι μα και λοιπόν
    ne jo ale tak no hele poslyš jasně prosím
    joo juu ei niin mutta no kuule hyvä kiva
    igen nem hát na figyelj kérlek
    da nu dar deci ascultă"""
)
"""What may stand before the name of whom one calls, at the start of a sentence."""

OPENING_PAIRS = frozenset(
    tuple(pair.split("+"))
    for pair in _words(
        """sag+mal hör+mal guck+mal schau+mal zeg+eens kijk+eens dis+donc dis+moi tell+me hey+listen
        säg+mig řekni+mi powiedz+mi скажи+мне скажи+мені dime+tú"""
    )
)
"""Two words that open what is said to somebody; alone they may want something told to them."""

ASKED_TO_ASK = _words(
    """ask frag fragt frage demande demandez pregunta pregúntale pregunten chiedi chiedete pergunta perguntem vraag
    zapytaj spytaj fråga sor спроси спросите запитай zeptej kysy ρώτα ρώτησε tanya tanyain"""
)
"""Who opens a sentence with these sends somebody to whoever is named in it."""

PRAISE = _words("good great nice fair excellent best solid cool fun bad poor silly clever smart")
"""The first word of a short cry to somebody: "good point Ember"."""

CLOSERS = _words(
    """please pls plz thanks thx ty lol lmao lmaooo haha hahaha xd again now then tho though btw ok okay yet
    bro today tonight
    tomorrow everyone all rn here there too
    bitte danke morgen domani demain mañana amanhã morgen imorgon jutro завтра αύριο"""
)
"""What may stand behind the name of whom one calls, at the end of a sentence."""

BEFORE_MENTION = _words(
    """the a an these those my our his her their its some any every each another last first new old which
    to of about with from for like than by at on in into over under without between after before behind
    near around because
    via per and-or as vs versus against except plus
    is was were does did has had can could should would might isn't wasn't doesn't didn't hasn't can't
    won't isnt doesnt
    if whether when while because why how what where unless until since though
    ask asks asked asking tell tells told telling see saw seen seeing love loves loved miss misses missed
    hate hates hated
    like likes liked know knows knew met meet made make makes created built called named calls call use
    uses used using
    trust want wants need needs teasing bullying bothering arguing ignoring annoying summon pinged ping
    pinging blame
    blamed heard hear watch watched think thinks thought says said guess let lets let's make made help
    helped believe
    install run import play type spam mute muted ban banned kick kicked invite invited added removed give
    gave gives show
    showed showing
    der die das den dem des ein eine einen einem einer mein meine unser unsere dieser diese dieses von mit
    zu zum zur für
    bei nach über ohne gegen aus auf an in durch wie als dass ob warum wenn weil wegen ist hat war frag
    frage fragt gefragt
    hab gestern findet kennt magst mag liebe hat
    le la les l' un une des du de à au aux avec pour sans chez par sur que qui est-ce si c'est mon ma
    notre cette ce comme
    el los las lo una unos al del con para sin sobre como que si mi nuestra nuestro esta este ese esa a en le
    il gli i uno della dello del dei di da con per su tra fra che se come mia mio nostra questa questo risponde
    o os as um uma do da dos das com pro pra pela pelo meu minha nossa essa esse criou
    de het een van met aan voor door naar bij over dat of mijn onze deze rare
    z ze od dla o w na przy przez jak że czy gdy bo
    en ett den det med till från för om av på hos som att min vår lite av
    ile için gibi ve bu şu bir benim
    с со к ко от для о об про у в на за без через что чтобы если как когда почему
    з із зі до від для про у в на за без що щоб якщо як коли чому має
    مع من إلى الى عن على في أن إن سألت قال قالت
    के साथ से और कि कल रोज़
    với của cho về từ và là bị được
    sama dengan untuk dari ke di bahwa yang kemarin ambilkan
    με για από στον στη στην στο τη την τον του της ο η το και ότι αν χθες
    s se k od pro v na o u bez že proč jestli když"""
)
"""What makes the name behind it a thing or somebody else: articles, prepositions, verbs that take an object, and those
that turn a sentence about somebody into a question."""

AFTER_MENTION = _words(
    """is isn't isnt was wasn't wasnt has hasn't hasnt had does doesn't doesnt did didn't didnt says said
    told tells asked
    asks wrote writes thinks thought knows knew likes liked loves loved hates seems seemed looks looked
    sounds felt feels
    just really always never still already also actually literally basically probably apparently keeps
    kept made makes
    gave gives got gets went goes came comes called calls answered answers replied replies remembers
    remembered forgot
    forgets wants wanted needs needed who whose in at from on about of out would could should might
    must won't
    wont wouldn't can't cant couldn't and's yesterday today be being been not n't roasting talking acting
    being trying
    ist hat war sagt sagte meint meinte wird wurde kann gestern heute immer nie schon antwortet antwortete
    findet
    schreibt schrieb weiß wusste macht hatte
    a est était dit fait va sera avait répond hier pense aime
    es está estaba dijo dice ha era fue tiene sabe ayer puede respondió quiere
    è era ha disse dice fa sa ieri sembra risponde pensa vuole
    é está disse falou tem foi faz sabe ontem parece
    is heeft had zegt zei was kan gisteren weet vindt denkt wist
    jest była był powiedziała powiedział napisała napisał wczoraj ma lubi wie odpowiada
    är var har sa säger igår kan vet tycker svarar
    dün bugün dedi diyor çok yazdı
    сказал сказала говорит написал написала была был вчера сегодня знает всегда вообще опять
    сказав сказала каже написала написав була був вчора сьогодні знає завжди вміє
    قال قالت يقول تقول كان كانت أمس
    ने को का की के से पर में बाई
    nói là đã hôm bị
    bilang kemarin sudah itu yang suka
    είπε λέει ήταν είναι έχει χθες
    řekla řekl je byla byl má včera napsala napsal říkala ví"""
)
"""What goes on about somebody: verbs in the third person, and words that tell of a time or a way."""

DEMONSTRATIVES = _words("that this it one so do know on")
"""Words that are complete by themselves, or go with the name: "I know that, Ember", "that Ember"."""

VOCATIVES_BEFORE = _words("يا arre arey ey oi oy hé hei эй гей ej")
VOCATIVES_AFTER = _words("ơi जी ji")
"""Words that stand by a name only where it is called."""

REPORTS = _words(
    """gefragt gesagt geschrieben geantwortet gemeint erzählt dijo preguntó disse falou napisała napisał napsala napsal
    сказала сказал написала написал говорила жартувала жартував шутила powiedziała gevraagd gezegd
    berättade sade
    bilang dedi söyledi είπε řekla"""
)
"""Verbs that tell what somebody has said, wherever they stand behind a name."""

PAST_TIMES = _words(
    "yesterday gestern hier ieri ayer ontem gisteren wczoraj igår dün вчера вчора أمس कल kemarin χθες včera"
)

PRONOUNS_OF_OTHERS = _words(
    """he she him her his hers himself herself they them
    er sie ihn ihm elle ella elles él lui lei ela ele zij hij hon han ona jej она он ей него неё вона він
    dia اها
    वह उसे उसने η αυτή αυτός"""
)

QUESTION_WORDS = _words(
    """what whats what's how hows how's why when whens where wheres where's which wat wut wyd hru
    was wie warum wann wo welche welcher
    que quoi comment pourquoi quand où quel quelle qu'est-ce
    qué cómo cuándo dónde cuál por
    che cosa come perché quando dove quale
    como quando onde qual o-que
    wat hoe waarom wanneer waar welke
    co jak dlaczego kiedy gdzie jaki jaka
    vad hur varför när vilken
    ne nasıl neden nerede hangi
    что как почему когда где какой какая сколько
    що як чому коли де який яка
    ما كيف لماذا متى أين هل
    क्या कैसे क्यों कब कहाँ
    apa bagaimana gimana kenapa kapan mana
    τι πώς γιατί πότε πού"""
)
"""With these one asks whoever is called; who asks with "who" mostly asks about somebody."""

COMMANDS = _words(
    """tell show give draw sing play help write cheer make explain say look come stop go let do don't dont
    try guess translate
    roll remind remember read find wake shut chill count name pick choose describe check recommend wish
    answer ask
    settle define spell list rate roast hug teach solve compare summarize summarise sum repeat recite
    bring keep open
    calculate convert send sleep be get have take wait listen imagine pretend suggest calm behave continue hurry
    sag erzähl erzähle zeig hilf schreib mach gib komm hör rate warte
    dis raconte montre aide écris fais donne viens attends explique
    di dime cuenta cuéntame ayuda ayúdame ayudame escribe haz dame ven espera explica
    dimmi racconta aiuta aiutami scrivi fai dammi vieni aspetta spiega
    diz conta ajuda escreve faz espera explica
    zeg vertel help schrijf geef kom wacht
    powiedz opowiedz pomóż napisz zrób daj chodź czekaj
    säg berätta hjälp skriv ge kom vänta
    söyle anlat yardım yaz ver gel bekle
    скажи расскажи помоги напиши сделай дай иди подожди покажи подскажи переведи
    скажи розкажи допоможи напиши зроби дай підкажи покажи
    tolong ceritakan bantu
    πες βοήθησε γράψε
    řekni pomoz napiš udělej dej pověz"""
)
"""The first word of a sentence that wants something done by whoever is called."""

OTHER_WORDS = {
    name: _words(after)
    for name, after in {
        "may": "i we you u he she they it the a be have",
        "will": "i we you u he she they it there the a be have anyone someone any this that",
        "can": "i we you u he she they it there the a be anyone someone",
        "hope": "you u ur your everyone everybody the i we this that it its it's he she they all so to for my",
        "mark": "my the a it your this that as down",
        "mira": "lo que esto eso este esta cómo como",
        "mai": "trời",
    }.items()
}
"""Names that are also words with which a sentence begins: what follows them then."""
