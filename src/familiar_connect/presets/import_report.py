"""ImportReport: what a preset brings, what of it is not used here and what that means, for the one who brought it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from familiar_connect.presets.macros.engine import expand
from familiar_connect.presets.macros.random_choice import has_choice
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.regex_summary import summarize_scripts
from familiar_connect.presets.types import Preset, PresetFidelity, PresetNode, PresetSettings
from familiar_connect.support.text import pluralize

ImportOutcome = Literal["read", "imported", "unchanged", "replaced"]

MAX_SHOWN = 12
"""Names in one line of the report; `preset show` has them all."""
_HISTORY = "chatHistory"


@dataclass(frozen=True, kw_only=True)
class MacroFinding:
    """A macro that does not do here what it does there, and the nodes it stands in."""

    macro: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What is in a preset, counted over the order that is in force. Names are those its author gave."""

    name: str
    fidelity: PresetFidelity = PresetFidelity.with_memory
    total: int = 0
    """Prompts in the file."""
    in_order: int = 0
    """Of them, those the order names: the nodes."""
    markers: int = 0
    toggleable: int = 0
    """Nodes with a text of their own."""
    enabled: int = 0
    """Of those, the ones that are on."""
    comment_only: int = 0
    disabled_by_preset: tuple[str, ...] = ()
    samplers: tuple[tuple[str, str], ...] = ()
    """What it says of how words are chosen, which holds for the reply: name and value."""
    unapplied: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    regex_scripts: int = 0
    regex_summary: str = ""
    """What they come to here, in a sentence."""
    extensions: tuple[str, ...] = ()
    random_above_dialogue: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    """Nodes with `<% … %>` in them, the language of an add-on."""
    unsupported: tuple[MacroFinding, ...] = ()
    unknown: tuple[MacroFinding, ...] = ()
    legacy: bool = False
    has_template: bool = False
    """Whether it says what stands around messages, for models that are given one text."""
    no_effect: str = ""
    """Why it is not in force."""
    outcome: ImportOutcome = "read"
    kept_as: str = ""
    """The file an earlier preset of the same name was kept in."""

    def lines(self) -> tuple[str, ...]:
        """The report for people: what there is, then what is different here, each with what it means."""
        found = [self._counts(), *self._differences()]
        if self.kept_as:
            found.append(f"The earlier preset of this name is kept as {self.kept_as}.")
        return tuple(found)

    def _counts(self) -> str:
        from_text = " made from a text-completion preset" if self.legacy else ""
        left = self.total - self.in_order
        aside = f"; {left} more in the file, which its order leaves out" if left > 0 else ""
        comments = f", {self.comment_only} only comments" if self.comment_only else ""
        return (
            f"{pluralize(self.in_order, 'prompt')}{from_text}: {pluralize(self.markers, 'marker')}, "
            f"{pluralize(self.toggleable, 'text')} ({self.enabled} on{comments}){aside}."
        )

    def _differences(self) -> list[str]:
        found = []
        if not self.in_order and not self.legacy:
            found.append("It holds no prompts in order, so it changes nothing in the prompt.")
        if self.has_template:
            found.append(
                "Its instruct template frames messages where the model is given one text: `text_server` under "
                "[llm.main_prose]."
            )
        if self.disabled_by_preset:
            found.append(f"Off, as the preset has it: {_names(self.disabled_by_preset)}.")
        if self.samplers:
            told = _names([f"{name} {value}" for name, value in self.samplers])
            found.append(
                f"Holds for replies, over your model's slot: {told}. `preset_samplers = false` in character.toml "
                "leaves it to the slot."
            )
        if self.unapplied:
            found.append(f"Not applied: {_names(self.unapplied)}. The model's service is set in character.toml, [llm].")
        if self.connections:
            found.append(
                f"Never applied: {_names(self.connections)}. An endpoint, key or proxy from a preset could send your "
                "talk elsewhere; `familiar connect` sets yours."
            )
        if self.regex_scripts:
            found.append(self.regex_summary)
        if self.extensions:
            found.append(f"Data of add-ons is kept but not used: {_names(self.extensions)}.")
        if self.random_above_dialogue:
            found.append(
                f"Random choices above the dialogue: {_names(self.random_above_dialogue)}. The prompt changes there "
                "every turn, so the model reads everything after it again: slower and more expensive."
            )
        if self.templates:
            found.append(f"An add-on's templates (<% … %>) are not run and stay as written: {_names(self.templates)}.")
        found += [
            f"{{{{{each.macro}}}}} means nothing outside SillyTavern's window and is left empty "
            f"(in {_names(each.nodes)})."
            for each in self.unsupported[:MAX_SHOWN]
        ]
        found += [
            f"{{{{{each.macro}}}}} is unknown and reaches the model as it is written (in {_names(each.nodes)})."
            for each in self.unknown[:MAX_SHOWN]
        ]
        more = max(0, len(self.unsupported) - MAX_SHOWN) + max(0, len(self.unknown) - MAX_SHOWN)
        return [*found, f"… and {more} more macros of these kinds."] if more else found


def report_on(preset: Preset, *, fidelity: PresetFidelity = PresetFidelity.with_memory) -> ImportReport:
    """What *preset* brings, in the order and with the rules of *fidelity*."""
    nodes = nodes_of(preset, fidelity)
    untouched = nodes_of(replace(preset, toggles=()), fidelity)
    texts = [node for node in nodes if not node.is_marker]
    spoken = [node for node in texts if node.is_enabled and not node.is_comment]
    read = [(node.name, node.content) for node in spoken] + _texts_of(preset.settings)
    unsupported, unknown = _macros(read, ours=fidelity is PresetFidelity.with_memory)
    return ImportReport(
        name=preset.name,
        fidelity=fidelity,
        total=len(preset.prompts),
        in_order=len(nodes),
        markers=len(nodes) - len(texts),
        toggleable=len(texts),
        enabled=sum(node.is_enabled for node in texts),
        comment_only=sum(node.is_comment for node in texts),
        disabled_by_preset=tuple(node.name for node in untouched if not node.is_enabled),
        samplers=tuple((name, _shown(value)) for name, value in preset.sampling.values_by_name().items()),
        unapplied=preset.unapplied,
        connections=preset.connections,
        regex_scripts=preset.regex_scripts,
        regex_summary=summarize_scripts(preset.scripts, preset.regex_scripts, active="usable"),
        extensions=preset.extensions,
        random_above_dialogue=tuple(node.name for node in _above_dialogue(nodes) if has_choice(node.content)),
        templates=tuple(node.name for node in spoken if "<%" in node.content),
        unsupported=unsupported,
        unknown=unknown,
        legacy=preset.legacy,
        has_template=preset.template is not None,
    )


def _above_dialogue(nodes: Sequence[PresetNode]) -> list[PresetNode]:
    """The texts that go out above the chat; all that stand by themselves, where it has no place."""
    history = next((node.node_order for node in nodes if node.identifier == _HISTORY and node.is_enabled), len(nodes))
    return [
        node
        for node in nodes[:history]
        if node.is_enabled and not node.is_marker and not node.is_comment and node.position == 0
    ]


def _texts_of(settings: PresetSettings) -> list[tuple[str, str]]:
    """What the preset itself says besides its prompts, by the name of the setting."""
    usual = PresetSettings()
    given = [(each.name, getattr(settings, each.name), getattr(usual, each.name)) for each in fields(settings)]
    return [(name, text) for name, text, default in given if isinstance(text, str) and text != default]


def _macros(
    texts: Iterable[tuple[str, str]], *, ours: bool
) -> tuple[tuple[MacroFinding, ...], tuple[MacroFinding, ...]]:
    """The macros of *texts* that are empty here, and those nobody knows; read once, in order, as a build would."""
    context = MacroContext(char="Character", user="User", variables=Variables(), ours=ours)
    unsupported: dict[str, list[str]] = {}
    unknown: dict[str, list[str]] = {}
    for where, text in texts:
        read = expand(text, context)
        for names, found in ((read.unsupported, unsupported), (read.unknown, unknown)):
            for name in names:
                found.setdefault(name, []).append(where)
    return _findings(unsupported), _findings(unknown)


def _findings(found: Mapping[str, Sequence[str]]) -> tuple[MacroFinding, ...]:
    return tuple(MacroFinding(macro=name, nodes=tuple(dict.fromkeys(where))) for name, where in found.items())


def _shown(value: object) -> str:
    """The value of a sampler, for a sentence."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(len(value)) if isinstance(value, tuple) else str(value)


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(name if len(name) <= 60 else f"{name[:59]}…" for name in names[:MAX_SHOWN])
    return f"{shown} and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else shown
