"""How the character talks, by example."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.chat.types import Showing
from familiar_connect.context.messages import without_speaker_names
from familiar_connect.context.providers.character import NEW_SCENE, SAMPLES, CharacterProvider, SampleDialoguesProvider
from familiar_connect.context.types import ContextRequest, ItemTag, Layer
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.macro_context import expand_authored
from familiar_connect.presets.types import ActivePreset, CardFields, Preset, PresetFidelity
from tests.fakes.context import ADA, BO, a_request
from tests.fakes.scene import entry_by, our_entry, request_in_place


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


async def turns(store: MemoryStore, text: str, request: ContextRequest | None = None) -> list[tuple[str, str]]:
    store.write_file("self/mes_example.md", text)
    found = await SampleDialoguesProvider(store).contribute(request or request_in_place(entry_by(ADA), our_entry()))
    return [(item.role, item.text) for each in found for item in each.items]


def named(*, own_names: bool) -> ContextRequest:
    request = request_in_place(entry_by(ADA))
    assert request.turn is not None
    return replace(request, turn=replace(request.turn, showing=Showing(own_names=own_names)))


BEGIN = f"[System: {SAMPLES}]"
ENDED = ("user", f"[System: {NEW_SCENE}]")


async def test_pairs_are_marked_as_samples_and_name_nobody_living(store: MemoryStore) -> None:
    """B90: user, then assistant; nobody here said it."""
    assert await turns(store, "<START>\n{{user}}: I am {user}.\n{{char}}: {{char}} knows, {{user}}.") == [
        ("user", f"{BEGIN}\nUser: I am User."),
        ("assistant", "Wren knows, User."),
        ENDED,
    ]


async def test_a_very_small_model_is_shown_the_pairs_without_notes(store: MemoryStore) -> None:
    """It would take them for something said."""
    store.write_file("self/mes_example.md", "{{user}}: hi\n{{char}}: hm")
    [block] = await SampleDialoguesProvider(store).contribute(request_in_place(entry_by(ADA)))

    assert [item.text for item in without_speaker_names(block.items)] == ["hi", "hm"]


async def test_the_macros_of_samples_are_read(store: MemoryStore) -> None:
    """B4, B92, B93: names before the familiar's words and the separator stay as they are."""
    store.write_file("self/mes_example.md", "{{user}}: hi\n{{char}}: {{reverse:abc}}\n{{char}}: {{newline}}x")
    request = replace(named(own_names=True), card=CardFields(name="Wren"))
    [block] = expand_authored(await SampleDialoguesProvider(store).contribute(request), request)

    assert [item.text for item in block.items][::3] == [f"{BEGIN}\nUser: hi", f"[System: {NEW_SCENE}]"]
    assert all(item.text.startswith("Wren: ") for item in block.items[1:3])
    assert "reverse" not in block.items[1].text


async def test_in_company_nobody_is_named(store: MemoryStore) -> None:
    """So that the samples stay the same whoever speaks."""
    text = "{{user}}: hi\n{{char}}: {{user}}?"
    first = await turns(store, text, request_in_place(entry_by(ADA), entry_by(BO), author=ADA))

    assert (
        first
        == await turns(store, text, request_in_place(entry_by(BO), entry_by(ADA), author=BO))
        == [
            ("user", f"{BEGIN}\nUser: hi"),
            ("assistant", "User?"),
            ENDED,
        ]
        == await turns(store, text, a_request())
    )


async def test_the_familiar_may_begin(store: MemoryStore) -> None:
    """B91, B95: a sentinel is no turn."""
    begins = [("user", BEGIN), ("assistant", "Hm.")]

    assert await turns(store, "{{user}}: -\n{{char}}: Hm.") == [*begins, ENDED]
    assert await turns(store, "{{char}}: Hm.") == [*begins, ENDED]
    assert await turns(store, "{{char}}: Hm.\n{{user}}: Yes?") == [*begins, ("user", "User: Yes?"), ENDED]


async def test_own_names_where_they_are_shown(store: MemoryStore) -> None:
    """B92, B113: not twice, with either colon and with a sprite."""
    text = "\n".join(
        f"{{{{user}}}}: {n}\n{{{{char}}}}: {said}" for n, said in enumerate(["Hm.", "Wren: a", "wren (sad)： b"])
    )
    own = [said for role, said in await turns(store, text, named(own_names=True)) if role == "assistant"]
    bare = [said for role, said in await turns(store, text, named(own_names=False)) if role == "assistant"]

    assert own == ["Wren: Hm.", "Wren: a", "wren (sad)： b"]
    assert bare[0] == "Hm."


async def test_nothing_to_show(store: MemoryStore) -> None:
    """No file, no labels, only the user's side, or speaking for somebody."""
    assert await SampleDialoguesProvider(store).contribute(request_in_place(entry_by(ADA))) == []
    assert await turns(store, "prose") == []
    assert await turns(store, "{{user}}: hi") == []
    assert await turns(store, "{{user}}: hi\n{{char}}: hm", request_in_place(entry_by(ADA), imitated=BO)) == []


async def test_they_stand_instead_of_the_plain_text(store: MemoryStore) -> None:
    """B25: the character leaves them to this contributor, but for a prompt made as in SillyTavern."""
    await turns(store, "{{user}}: hi\n{{char}}: hm")
    [block] = await SampleDialoguesProvider(store).contribute(request_in_place(entry_by(ADA)))
    preset = ActivePreset(preset=Preset(name="p"), fidelity=PresetFidelity.sillytavern)
    character = CharacterProvider(store, samples=False)

    assert (block.layer, block.tag, block.priority) == (Layer.examples, ItemTag.SAMPLE, 40)
    assert await character.contribute(request_in_place(entry_by(ADA))) == []
    assert [c.tag for c in await character.contribute(request_in_place(entry_by(ADA), preset=preset))] == [
        ItemTag.SAMPLE
    ]
