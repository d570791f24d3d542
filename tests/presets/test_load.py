"""Preset files become values, whatever their age; whatever else is in them becomes one sentence."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import PresetError
from familiar_connect.presets.load import MAX_BYTES, MAX_DEPTH, MAX_PROMPTS, is_no_preset, read_preset, safe_preset_name
from familiar_connect.presets.prompt_order import BUILT_IN, DEFAULT_ORDER, find_node, is_comment_only, nodes_of
from familiar_connect.presets.types import OrderEntry, Preset, PresetFidelity, PresetNode, PresetSettings

OURS, THEIRS = PresetFidelity.with_memory, PresetFidelity.sillytavern


def preset_of(**document: Any) -> Preset:
    return read_preset(json.dumps(document), "p")


def prompt(identifier: str, content: str = "text", **more: Any) -> dict[str, Any]:
    return {"identifier": identifier, "name": identifier.upper(), "content": content, **more}


def order(character_id: int | str, *entries: str | tuple[str, bool]) -> dict[str, Any]:
    pairs = [(each, True) if isinstance(each, str) else each for each in entries]
    return {"character_id": character_id, "order": [{"identifier": name, "enabled": on} for name, on in pairs]}


def switches(preset: Preset, fidelity: PresetFidelity = OURS) -> list[tuple[str, bool]]:
    return [(node.identifier, node.is_enabled) for node in nodes_of(preset, fidelity)]


def refusal(raw: bytes | str) -> str:
    with pytest.raises(PresetError) as caught:
        read_preset(raw, "p")
    sentence = str(caught.value)
    assert sentence.startswith("preset 'p': ")
    assert "\n" not in sentence
    return sentence


# --- what is in a file ---


def test_a_prompt_is_read_with_all_it_says() -> None:
    """Every field finds its place."""
    preset = preset_of(
        prompts=[
            prompt(
                "a",
                "A",
                role="assistant",
                system_prompt=False,
                enabled=False,
                injection_position=1,
                injection_depth=2,
                injection_order=50,
                injection_trigger=["continue", 3],
                forbid_overrides=True,
            )
        ]
    )

    assert preset.prompts == (
        PresetNode(
            identifier="a",
            name="A",
            role="assistant",
            content="A",
            is_enabled=False,
            position=1,
            depth=2,
            order=50,
            triggers=("continue",),
            forbid_overrides=True,
            system_prompt=False,
        ),
    )


def test_a_bare_prompt_takes_the_defaults() -> None:
    """The name is the identifier's, the role the system's, the depth four, the order a hundred."""
    preset = preset_of(prompts=[{"identifier": "a"}, {"content": "no name"}])

    assert preset.prompts == (
        PresetNode(identifier="a", name="a", depth_given=False, role_given=False),
        PresetNode(identifier="prompt-2", name="prompt-2", content="no name", depth_given=False, role_given=False),
    )


@pytest.mark.parametrize(
    ("depth", "read"), [(None, 4), (0, 0), (2.0, 2), (-1, -1), ("1", None), (1.5, None), (True, None), ([], None)]
)
def test_a_depth_that_is_no_number_is_none(depth: object, read: int | None) -> None:
    """Text that looks like a number never matches a depth."""
    assert preset_of(prompts=[prompt("a", injection_depth=depth)]).prompts[0].depth == read


@pytest.mark.parametrize("marker", [1, "true", None, False])
def test_only_true_makes_a_marker(marker: object) -> None:
    """And a role nobody knows is the system's."""
    node = preset_of(prompts=[prompt("a", marker=marker, role="narrator")]).prompts[0]

    assert (node.is_marker, node.role) == (False, "system")
    assert preset_of(prompts=[prompt("a", marker=True, role="")]).prompts[0].is_marker


def test_settings_are_read_and_the_rest_stays_at_its_default() -> None:
    """A value of the wrong kind counts as not given."""
    preset = preset_of(
        prompts=[],
        names_behavior=2,
        squash_system_messages=True,
        new_chat_prompt="",
        wi_format=7,
        continue_prefill="yes",
        openai_max_context=8192,
        openai_max_tokens=-1,
        custom_prompt_post_processing="claude",
    )

    assert preset.settings == PresetSettings(
        names_behavior=2, squash_system_messages=True, new_chat_prompt="", max_context=8192, post_processing="merge"
    )


def test_names_of_an_older_file_are_kept() -> None:
    """Its switch for names in the completion is the behaviour of that name."""
    assert preset_of(prompts=[], names_in_completion=True).settings.names_behavior == 1
    assert preset_of(prompts=[]).settings.names_behavior is None


def test_what_is_for_the_service_is_named_and_its_value_never_kept() -> None:
    """The service, endpoints and keys, scripts and add-ons; an empty endpoint is none."""
    preset = preset_of(
        prompts=[],
        temperature=1,
        n=2,
        reverse_proxy="https://elsewhere.example",
        proxy_password="hunter2",
        custom_url=" ",
        extensions={"regex_scripts": [{}, {}], "helper": {"scripts": [1]}, "unused": {}},
    )

    assert (preset.unapplied, preset.connections) == (("n",), ("reverse_proxy", "proxy_password"))
    assert (preset.regex_scripts, preset.extensions) == (2, ("helper",))
    assert "hunter2" not in repr(preset)
    assert "elsewhere" not in repr(preset)


def test_the_oldest_presets_become_prompts_in_the_standard_order() -> None:
    """Three texts as settings, before there were prompts; both fidelities see the same."""
    preset = preset_of(main_prompt="M", nsfw_prompt="N", jailbreak_prompt="J", temperature=1)
    texts = {node.identifier: node.content for node in nodes_of(preset, OURS) if node.content}

    assert (texts["main"], texts["nsfw"], texts["jailbreak"]) == ("M", "N", "J")
    assert nodes_of(preset, OURS) == nodes_of(preset, THEIRS)
    assert [each.identifier for each in DEFAULT_ORDER] == [node.identifier for node in nodes_of(preset, OURS)]
    assert not preset.legacy


def test_an_older_text_takes_the_place_of_a_prompts_own() -> None:
    """Unless it says nothing."""
    preset = preset_of(prompts=[prompt("main", "own"), prompt("nsfw", "own")], main_prompt="M", nsfw_prompt="")

    assert [node.content for node in preset.prompts] == ["M", "own"]


@pytest.mark.parametrize(("order", "read"), [("50", 50), (50, 50), ("-5", -5), ("soon", 100), ("", 100), (None, 100)])
def test_an_order_may_be_spelt(order: object, read: int) -> None:
    """Text that is a whole number counts as that number."""
    assert preset_of(prompts=[prompt("a", injection_order=order)]).prompts[0].order == read


# --- orders ---


def test_the_list_every_character_uses_comes_first() -> None:
    """Numbers and strings name the same list; unknown entries are passed over, unlisted prompts left out."""
    preset = preset_of(
        prompts=[prompt("a"), prompt("b"), prompt("c")],
        prompt_order=[order("100000", "a", "b", "c"), order("100001", "b", ("a", False), "ghost")],
    )

    assert switches(preset) == switches(preset, THEIRS) == [("b", True), ("a", False)]
    assert [node.node_order for node in nodes_of(preset, OURS)] == [0, 1]
    assert len(preset.orders) == 2


def test_without_it_the_fidelities_differ() -> None:
    """C62: ours takes the leftover list, SillyTavern's its own default order and prompts."""
    preset = preset_of(prompts=[prompt("main", "M"), prompt("b")], prompt_order=[order(100000, "b", "main")])
    theirs = nodes_of(preset, THEIRS)

    assert switches(preset) == [("b", True), ("main", True)]
    assert [node.identifier for node in theirs] == [entry.identifier for entry in DEFAULT_ORDER]
    assert [node.identifier for node in theirs if not node.is_enabled] == ["enhanceDefinitions"]
    assert theirs[0].content == "M"
    assert theirs[1] == nodes_of(Preset(name="x"), THEIRS)[1]


def test_without_any_list_prompts_stand_as_they_are_written() -> None:
    """Their own switch counts then, and then alone."""
    prompts = [prompt("a", enabled=False), prompt("b"), prompt("c", enabled=None)]

    assert switches(preset_of(prompts=prompts)) == [("a", False), ("b", True), ("c", True)]
    assert switches(preset_of(prompts=prompts, prompt_order=[order(100001, "a")])) == [("a", True)]


def test_an_entry_is_on_when_it_says_so() -> None:
    """Whatever counts as yes in a browser is on, as there; silence is off."""
    entries = [{"identifier": "a", "enabled": 1}, {"identifier": "b"}, {"identifier": "c", "enabled": True}, None, 7]
    preset = preset_of(
        prompts=[prompt("a"), prompt("b"), prompt("c")], prompt_order=[{"character_id": 100001, "order": entries}]
    )

    assert switches(preset) == [("a", True), ("b", False), ("c", True)]


def test_built_in_prompts_need_no_definition_there() -> None:
    """Markers do not here either; texts of theirs are not brought into our prompts."""
    preset = preset_of(prompts=[prompt("a")], prompt_order=[order(100001, "main", "a", "chatHistory")])

    assert switches(preset) == [("a", True), ("chatHistory", True)]
    assert switches(preset, THEIRS) == [("main", True), ("a", True), ("chatHistory", True)]
    assert nodes_of(preset, THEIRS)[0].content == BUILT_IN["main"].content


def test_the_owners_toggles_win() -> None:
    """Over whatever list; a toggle of something that is not in it does nothing."""
    read = preset_of(prompts=[prompt("a"), prompt("b")], prompt_order=[order(100001, "a", ("b", False))])
    toggles = (
        OrderEntry(identifier="a", enabled=False),
        OrderEntry(identifier="b", enabled=True),
        OrderEntry(identifier="gone", enabled=True),
    )
    preset = Preset(name="p", prompts=read.prompts, orders=read.orders, toggles=toggles)

    assert switches(preset) == [("a", False), ("b", True)]


def test_a_prompt_listed_twice_stands_once() -> None:
    """Where and as it is first named; of two prompts with one identifier the first counts."""
    preset = preset_of(
        prompts=[prompt("a", "1"), prompt("b"), prompt("a", "2")],
        prompt_order=[order(100001, ("a", False), "b", "a")],
    )

    assert [(node.content, node.is_enabled) for node in nodes_of(preset, OURS)] == [("1", False), ("text", True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{// only this }}", True),
        ("  {{//a}}\n{{ // b\nc }}{{TRIM}} ", True),
        ("{{//}} hidden {{setvar::a::b}} {{///}}", True),
        ("{{trim}}", True),
        ("", False),
        (" \n", False),
        ("{{// a }} b", False),
        ("{{// never closed", False),
        ("{{setvar::a::b}}{{trim}}", False),
    ],
)
def test_comments_alone_are_told_from_text(text: str, expected: bool) -> None:
    """They are shown among the toggles and never sent."""
    assert is_comment_only(text) is expected
    assert nodes_of(preset_of(prompts=[prompt("a", text)]), OURS)[0].is_comment is expected


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["{{//}}", "{{// a }}", "{{trim}}", "{{   ", "{{//}}{{///}}"])
def test_telling_comments_takes_time_in_proportion(piece: str) -> None:
    """Two megabytes of any of them."""
    text = piece * (MAX_BYTES // len(piece))
    started = time.process_time()
    is_comment_only(text)

    assert time.process_time() - started < 2


def test_a_node_is_found_by_identifier_number_and_name() -> None:
    """Part of a name does where no other has it; of several none is guessed."""
    nodes = nodes_of(
        preset_of(prompts=[prompt("x", name="Main Prompt"), prompt("1", name="Style"), prompt("z", name="Style two")]),
        OURS,
    )

    def found(words: str) -> str | None:
        node = find_node(nodes, words)
        return None if node is None else node.identifier

    assert [found(words) for words in ("x", "1", "3", "style", "MAIN", " two ", "prompt")] == [
        "x",
        "1",
        "z",
        "1",
        "x",
        "z",
        "x",
    ]
    assert [found(words) for words in ("st", "nothing", "", "0", "4", "9" * 30)] == [None] * 6


# --- what is no preset ---


@pytest.mark.parametrize(
    ("raw", "fragment"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"\xff\xfa", "UTF-8"),
        (b"\x89PNG\r\n", "UTF-8"),
        (b"{", "not valid JSON at line 1"),
        (b'{"a": NaN}', "not valid JSON"),
        (b"9" * 10_000, "not valid JSON"),
        (b"[]", "holds a list"),
        (b'[{"prompts": []}]', "holds a list"),
        (b"3", "holds a single value"),
        (b"{}", "neither `prompts` nor a story string"),
        (b'{"prompts": {}}', "neither"),
        (b'{"spec": "chara_card_v2"}', "is a character card"),
        (b'{"entries": {}}', "is a lorebook"),
        (b"[" * 100_000, f"more than {MAX_DEPTH} levels"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, f"more than {MAX_DEPTH} levels"),
        (b'{"prompts": ' + b"[" * 70 + b"]" * 70 + b"}", f"more than {MAX_DEPTH} levels"),
        (b" " * (MAX_BYTES + 1), "2,097,153 bytes"),
        (json.dumps({"prompts": [{}] * (MAX_PROMPTS + 1)}), "5,001 prompts"),
        (json.dumps({"prompts": [], "prompt_order": [order(1, *"a" * 30_000)] * 2}).replace(" ", ""), "order entries"),
    ],
)
def test_what_is_no_preset_is_told_in_one_sentence(raw: bytes | str, fragment: str) -> None:
    """With its name and what to do."""
    assert fragment in refusal(raw)


def test_halves_of_characters_are_replaced() -> None:
    """So that every text can be written and sent; whole characters stay."""
    preset = read_preset(
        '{"prompts": [{"identifier": "\\ud83d\\ude00", "name": "\\ud800", "content": "a\\udfffb"}]}', "p"
    )

    assert (preset.prompts[0].identifier, preset.prompts[0].content) == ("\N{GRINNING FACE}", "a\ufffdb")
    assert json.dumps(preset.prompts[0].name, ensure_ascii=False).encode()


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_mark_at_the_beginning_does_no_harm(codec: str) -> None:
    """As Windows editors leave it."""
    raw = json.dumps({"prompts": [prompt("a", "明月秋青")]}, ensure_ascii=False).encode(codec)

    assert read_preset(raw, "p").prompts[0].content == "明月秋青"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
PROMPT_KEYS = """identifier name role content marker enabled injection_position injection_depth injection_order
injection_trigger forbid_overrides system_prompt character_id order"""
ROOT_KEYS = """prompts prompt_order names_behavior main_prompt jailbreak_prompt wi_format openai_max_context extensions
context sysprompt instruct story_string post_history content system_prompt custom_prompt_post_processing seed"""
KEYS = st.sampled_from(PROMPT_KEYS.split())
PROMPT_LIKE = st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON)))
DOCUMENTS = st.dictionaries(st.sampled_from(ROOT_KEYS.split()), JSON | st.lists(PROMPT_LIKE | JSON) | PROMPT_LIKE)


@given(st.binary() | st.text() | JSON.map(json.dumps) | DOCUMENTS.map(json.dumps))
def test_anything_is_a_preset_or_one_sentence(raw: bytes | str) -> None:
    """No bytes, no JSON raises anything else; what is read can be ordered and written."""
    try:
        preset = read_preset(raw, "p")
    except PresetError:
        return
    for fidelity in PresetFidelity:
        for node in nodes_of(preset, fidelity):
            assert f"{node.identifier}{node.name}{node.content}".encode() is not None


# --- names ---


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("Default", "Default"),
        ("明月秋青", "明月秋青"),
        ("【明月秋青】 v2.1", "【明月秋青】 v2.1"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("a/b\\c:d", "a_b_c_d"),
        (" .hidden. ", "hidden"),
        ("two\n lines\x00\x1b[31m", "two lines[31m"),
        ("CON", "_CON"),
        ("None", "_None"),
        ("😀👩‍👩‍👧", "😀👩‍👩‍👧"),
        ("x" * 300, "x" * 100),
    ],
)
def test_names_become_files_of_that_name(name: str, safe: str) -> None:
    """Letters of every script stay; what leads elsewhere does not."""
    assert safe_preset_name(name) == safe


@pytest.mark.parametrize("name", ["", "...", " / "[:1], "\x00"])
def test_a_name_of_nothing_is_refused(name: str) -> None:
    """With the way out."""
    with pytest.raises(PresetError, match="--name"):
        safe_preset_name(name)


@given(st.text())
def test_safe_names_are_safe_and_stay(name: str) -> None:
    """One plain file on every system, short enough, and the same when asked again."""
    try:
        safe = safe_preset_name(name)
    except PresetError:
        return

    assert safe_preset_name(safe) == safe
    assert len(safe) <= 100
    assert len(safe.encode()) <= 200
    assert not set(safe) & set('/\\:*?"<>|\0\n')
    assert not safe.startswith((".", " "))
    assert not safe.endswith((".", " "))
    assert not is_no_preset(safe)
