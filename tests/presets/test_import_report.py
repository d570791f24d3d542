"""The report of an import: what there is, what is different here and what that means."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from familiar_connect.presets.import_report import MAX_SHOWN, ImportReport, MacroFinding, report_on
from familiar_connect.presets.load import read_preset
from familiar_connect.presets.types import OrderEntry, Preset, PresetFidelity


def a_preset(*prompts: tuple[str, str], off: tuple[str, ...] = (), **more: Any) -> Preset:
    """Prompts in order; a text of `marker` makes one."""
    document = {
        "prompts": [
            {"identifier": name, "content": text, "marker": text == "marker", "system_prompt": False}
            for name, text in prompts
        ],
        "prompt_order": [
            {
                "character_id": 100001,
                "order": [
                    {"identifier": name, "enabled": name not in off} for name, _ in prompts if name != "unlisted"
                ],
            }
        ],
        **more,
    }
    return read_preset(json.dumps(document), "p")


def said(report: ImportReport) -> str:
    return "\n".join(report.lines())


def test_prompts_are_counted() -> None:
    """C26: in the file, in order, markers, texts, those that are on, comments."""
    report = report_on(
        a_preset(
            ("main", "M"),
            ("note", "{{// only a note }}"),
            ("chatHistory", "marker"),
            ("extra", "E"),
            ("unlisted", "U"),
            off=("extra",),
        )
    )

    assert (report.total, report.in_order, report.markers) == (5, 4, 1)
    assert (report.toggleable, report.enabled, report.comment_only) == (3, 2, 1)
    assert report.disabled_by_preset == ("extra",)
    assert report.lines()[0] == (
        "4 prompts: 1 marker, 3 texts (2 on, 1 only comments); 1 more in the file, which its order leaves out."
    )


def test_toggles_count_as_on_and_stay_disabled_by_the_preset() -> None:
    """What the preset has off, it has off, whoever switched it on."""
    preset = replace(a_preset(("a", "A"), off=("a",)), toggles=(OrderEntry(identifier="a", enabled=True),))
    report = report_on(preset)

    assert (report.enabled, report.disabled_by_preset) == (1, ("a",))


def test_what_is_never_applied_is_named_with_the_reason() -> None:
    """The service, endpoints and keys, scripts, add-ons; addresses are not repeated."""
    text = said(
        report_on(
            a_preset(
                ("a", "A"),
                temperature=0.7,
                n=2,
                reverse_proxy="https://elsewhere.example",
                extensions={"regex_scripts": [{}], "helper": {"x": 1}},
            )
        )
    )

    assert "Holds for replies, over your model's slot: temperature 0.7." in text
    assert "Not applied: n." in text
    assert "Never applied: reverse_proxy." in text
    assert "1 regex script: 1 unreadable." in text
    assert "add-ons is kept but not used: helper." in text
    assert "elsewhere.example" not in text


def test_random_choices_above_the_dialogue_are_warned_about() -> None:
    """Not below it, not at a depth, not where they are off."""
    roll = "Today: {{random::sun::rain}}"
    report = report_on(
        a_preset(("a", roll), ("b", "B"), ("c", roll), ("chatHistory", "marker"), ("d", roll), off=("c",))
    )

    assert report.random_above_dialogue == ("a",)
    assert "changes there every turn" in said(report)


def test_without_a_place_for_the_chat_every_text_stands_above_it() -> None:
    """The dialogue comes last then."""
    assert report_on(a_preset(("a", "{{random: x, y}}"))).random_above_dialogue == ("a",)


def test_macros_that_do_something_else_here_are_told() -> None:
    """Unknown ones stay as written; those that need SillyTavern's window are empty."""
    report = report_on(
        a_preset(
            ("a", "{{frobnicate}} {{input}} {{char}} {{getvar::x}}"),
            ("b", "{{frobnicate}}"),
            ("c", "{{unheard}}"),
            ("d", "{{// {{unheardToo}} }}"),
            off=("c",),
        )
    )

    assert report.unknown == (MacroFinding(macro="frobnicate", nodes=("a", "b")),)
    assert [found.macro for found in report.unsupported] == ["input"]
    assert "{{frobnicate}} is unknown and reaches the model as it is written (in a, b)." in report.lines()
    assert "{{input}} means nothing outside SillyTavern's window" in said(report)


def test_the_other_texts_of_a_preset_are_read_too() -> None:
    """Formats, nudges and separators, by the name of the setting; usual ones hold nothing to tell."""
    report = report_on(a_preset(("a", "A"), scenario_format="Now: {{senario}}", wi_format="{0}"))

    assert report.unknown == (MacroFinding(macro="senario", nodes=("scenario_format",)),)


def test_templates_of_an_add_on_are_told() -> None:
    """They are text to us."""
    report = report_on(a_preset(("a", "Hi <%= user %>"), ("b", "x < y")))

    assert report.templates == ("a",)
    assert "stay as written: a." in said(report)


def test_an_empty_preset_says_that_it_changes_nothing() -> None:
    """It may still be kept."""
    assert "changes nothing in the prompt" in said(report_on(Preset(name="p")))


def test_the_other_fidelity_counts_its_own_order() -> None:
    """SillyTavern's default where the file has none."""
    preset = read_preset(b'{"prompts": [{"identifier": "a", "content": "A"}]}', "p")

    assert report_on(preset).in_order == 1
    assert report_on(preset, fidelity=PresetFidelity.sillytavern).in_order == 12


def test_long_lists_are_cut_and_say_so() -> None:
    """Nobody reads a hundred names."""
    many = a_preset(*((f"node {number}", f"{{{{what{number}x}}}}") for number in range(40)))
    lines = report_on(replace(many, unapplied=tuple(f"s{number}" for number in range(40)))).lines()

    assert len(lines) < MAX_SHOWN + 6
    assert "and 28 more" in "\n".join(lines)
