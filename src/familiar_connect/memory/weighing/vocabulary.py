"""Lists of words that lasting facts are told with: jobs, pets, languages, pastimes, instruments, illnesses.

They are as long as a general dictionary of each would have it, not as the talk that measures them happens to need.
"""

from __future__ import annotations

PET = (
    r"(?:dogs?|cats?|pupp(?:y|ies)|pups?|kittens?|kitt(?:y|ies)|hamsters?|rabbits?|bunn(?:y|ies)|parrots?|birds?"
    r"|budgies?|horses?|pon(?:y|ies)|goldfish|turtles?|tortoises?|snakes?|lizards?|geckos?|ferrets?|guinea pigs?"
    r"|chickens?|hens?|goats?|bees|hounds?|greyhounds?|dachshunds?|labradors?|terriers?|spaniels?|retrievers?"
    r"|poodles?|pets?|corgis?|husk(?:ys|y|ies)|rescue dog|parakeets?|cockatiels?|canar(?:y|ies)|axolotls?|iguanas?"
    r"|chinchillas?|hedgehogs?|donkeys?|alpacas?|llamas?|sheep|piglets?|ducks?|geese|bulldogs?|beagles?|pugs?"
    r"|collies?|mutts?|strays?|tabb(?:y|ies)|siamese|whippets?|boxers?|dalmatians?|chihuahuas?|rottweilers?"
    r"|dobermanns?|mastiffs?|samoyeds?|schnauzers?|setters?|sheepdogs?|gerbils?|tarantulas?|stick insects?|quails?"
    r"|peacocks?|pigeons?|koi)"
)
JOBS = (
    r"(?:teacher|nurse|doctor|engineer|programmer|developer|baker|driver|midwife|florist|pharmacist|paramedic"
    r"|lawyer|judge|pastor|priest|imam|rabbi|farmer|carpenter|joiner|plumber|electrician|mechanic|chef|cook|waiter"
    r"|waitress|barista|bartender|musician|singer|dancer|actor|actress|painter|artist|designer|architect"
    r"|photographer|journalist|writer|author|editor|translator|interpreter|librarian|scientist|biologist|chemist"
    r"|physicist|accountant|banker|clerk|secretary|cleaner|hairdresser|barber|tailor|butcher|gardener|fisherman"
    r"|sailor|pilot|soldier|policeman|policewoman|police officer|cop|firefighter|fireman|social worker|therapist"
    r"|psychologist|psychiatrist|surgeon|dentist|vet|consultant|manager|salesman|postman|builder|welder|miner"
    r"|janitor|caretaker|student|professor|lecturer|researcher|headmaster|headteacher|deputy head|coach|referee"
    r"|presenter|producer|director|technician|sound engineer|analyst|nanny|au pair|freelancer|healer|taxi driver"
    r"|truck driver|train driver|bus driver|kindergarten teacher|goalkeeper|athlete|boxer|pianist|cellist"
    r"|violinist|drummer|guitarist|bassist|composer|conductor|sculptor|potter|weaver|jeweller|optician|physio\w*"
    r"|radiographer|estate agent|civil servant|diplomat|politician|mayor|monk|nun|trainer|stewardess"
    r"|flight attendant|roofer|tiler|glazier|locksmith|upholsterer|cartographer|geologist|geographer|archaeologist"
    r"|historian|curator|economist|statistician|astronomer|mathematician|beekeeper|brewer|blacksmith|goldsmith"
    r"|clockmaker|watchmaker|shoemaker|cobbler|seamstress|dressmaker|bricklayer|stonemason|mason|forester"
    r"|lumberjack|ranger|lifeguard|beautician|dietitian|nutritionist|osteopath|chiropractor|audiologist"
    r"|p(?:a)?ediatrician|cardiologist|gyn(?:a)?ecologist|an(?:a)?esthetist|oncologist|radiologist|neurologist"
    r"|dermatologist|solicitor|barrister|paralegal|detective|bouncer|receptionist|concierge|stylist|animator"
    r"|illustrator|copywriter|comedian|magician|puppeteer|organist|dj|roadie|tester|sysadmin|recruiter|tutor"
    r"|headmistress|childminder|carer|undertaker|gravedigger|vicar|deacon|bishop|missionary|skipper|deckhand"
    r"|courier|machinist|toolmaker|winemaker|vintner|shepherd|fishmonger|greengrocer|grocer|shopkeeper|bookseller"
    r"|publicist|lobbyist|activist|councillor|zookeeper|groom|jockey|astronaut|meteorologist|botanist|zoologist"
    r"|geneticist|linguist|philosopher|theologian|sociologist|anthropologist|playwright|poet|novelist|screenwriter"
    r"|cartoonist|choreographer|ballerina|cinematographer|plasterer|decorator|roadworker|surveyor|actuary|auditor"
    r"|broker|trader|underwriter|adjuster|auctioneer|dispatcher|stoker|usher|milliner|glassblower|saddler|cooper"
    r"|thatcher|tanner|bookbinder|printer|typesetter|proofreader|archivist|conservator|restorer|luthier"
    r"|data scientist|product manager|project manager|care worker|security guard|prison officer|tour guide"
    r"|travel agent|delivery driver|warehouse worker|crane operator|tram driver|forklift driver|dairy farmer"
    r"|home help|speech therapist|occupational therapist|notary|teaching assistant|stay-at-home (?:mum|mom|dad))"
)
LANGUAGE = (
    r"(?:english|german|french|spanish|italian|croatian|polish|turkish|arabic|kurdish|hindi|urdu|gujarati|punjabi"
    r"|russian|ukrainian|chinese|mandarin|cantonese|japanese|korean|dutch|flemish|portuguese|greek|swedish|danish"
    r"|norwegian|finnish|icelandic|czech|slovak|slovenian|hungarian|serbian|bosnian|macedonian|albanian|romanian"
    r"|bulgarian|estonian|latvian|lithuanian|persian|farsi|dari|pashto|hebrew|yiddish|welsh|irish|gaelic|breton"
    r"|basque|galician|catalan|latin|vietnamese|thai|khmer|lao|burmese|malay|indonesian|tagalog|tamil|telugu"
    r"|malayalam|kannada|marathi|bengali|sinhala|nepali|mongolian|kazakh|uzbek|azeri|armenian|georgian|swahili"
    r"|yoruba|igbo|hausa|amharic|tigrinya|somali|zulu|xhosa|afrikaans|maltese|luxembourgish|esperanto)"
)
INSTRUMENT = (
    r"(?:bass|guitar|piano|violin|cello|drums?|flute|accordion|trumpet|saxophone|sax|harp|organ|keyboards?|ukulele"
    r"|banjo|clarinet|viola|trombone|harmonica|bassoon|oboe|mandolin|sitar|bagpipes|fiddle|double bass|tuba"
    r"|french horn|recorder|xylophone|tabla|lute|zither|concertina|tin whistle|euphonium|cornet|piccolo"
    r"|harpsichord|theremin|steel drums?)"
)
GAME = (
    r"(?:chess|tennis|football|soccer|basketball|handball|volleyball|golf|badminton|rugby|cricket|hockey|poker|go"
    r"|squash|table tennis|ping pong|darts|snooker|pool|billiards|bowls|bridge|lacrosse|baseball|softball"
    r"|water polo|padel|netball|floorball|dungeons|backgammon)"
)
PASTIME = (
    r"(?:judo|karate|boxing|ballet|scouts|bouldering|marathons?|triathlon|yoga|pottery|allotment|fencing|archery"
    r"|aikido|taekwondo|kickboxing|crossfit|pilates|zumba|salsa|tango|ballroom|rowing|kayaking|canoeing"
    r"|paragliding|skydiving|horse riding|parkour|skateboarding|snowboarding|geocaching|birdwatching|stargazing"
    r"|embroidery|crochet|crocheting|calligraphy|woodworking|model trains|stamp collecting|genealogy|astronomy"
    r"|foraging|origami|beekeeping|homebrewing|improv|metal detecting|free diving|scuba"
    r"|orienteering|climbing gym)"
)
ILLNESS = (
    r"(?:gallstones?|gallbladder|hysterectomy|vasectomy|endoscopy|stoma|cysts?|polyps?|fibromyalgia|long covid"
    r"|tuberculosis|hepatitis|pneumonia|pancreatitis|ulcers?|reflux|cochlear|dentures|rollator|burn-?out"
    r"|tourette\w*|cerebral palsy|spina bifida|down(?:'s)? syndrome|sickle cell|cystic fibrosis|ha?emophilia"
    r"|angina|aneurysm|blood type|organ donor|sleepwalk\w*|perimenopause|postpartum|post-natal|self-harm"
    r"|schizophren\w*|agoraphobia|sciatica|carpal tunnel|tendonitis|whiplash|gluten-free|dairy-free|nut-free"
    r"|low-carb|narcolep\w*|raynaud\w*|rosacea|vitiligo|alopecia|sarcoma|myeloma|cirrhosis|sepsis|embolism"
    r"|thrombosis|varicose|cholesterol|heart murmur|pre-?eclampsia|prediabetic|near-?sighted|short-?sighted"
    r"|far-?sighted|rash|latex|bee stings?|wasp stings?|shellfish)"
)
