"""Pictures of a familiar: those its card brought, those its owner adds, and the mood of a reply beside the chat."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.bootstrap.card_files.png import plain_picture
from familiar_connect.bootstrap.from_card import make_from_card, read_card_file
from familiar_connect.support.pictures import plain_stem
from tests.fakes.cards import V3, charx, picture
from tests.fakes.page import Answered, PageClient, needs_page
from tests.fakes.scripted_familiar import scripted_familiar

pytestmark = needs_page

from familiar_connect.platforms.web.expressions import choose_expression  # noqa: E402
from tests.fakes.served_page import served_page  # noqa: E402 - needs the packages of the page
from tests.platforms.web.test_chat_shelf import ask, send  # noqa: E402

LABELS = ("joy", "anger", "sadness", "neutral")


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("*smiles* You are back!", "joy"),
        ("She was happy once. *glares at the door, growling*", "anger"),
        ("*a tear runs down* I was so lonely.", "sadness"),
        ("The door is to the left.", "neutral"),
        ("", "neutral"),
    ],
)
def test_the_mood_is_told_by_the_words_of_a_reply(reply: str, label: str) -> None:
    """What is done counts more than what is said."""
    assert choose_expression(reply, LABELS) == label


def test_a_mood_with_a_name_of_its_own_is_shown_when_a_reply_says_it() -> None:
    """And where there is no calm picture, none is shown without a reason."""
    assert choose_expression("*transforms into her wolfform*", ["wolfform"]) == "wolfform"
    assert choose_expression("Hello.", ["wolfform"]) is None


@given(st.text(max_size=80))
def test_a_picture_s_name_is_a_file_of_its_folder(name: str) -> None:
    """Whatever it is called."""
    stem = plain_stem(name)

    assert stem
    assert Path(stem).name == stem
    assert not stem.startswith(".")


def test_a_card_s_pictures_are_kept_by_what_they_are_for(tmp_path: Path) -> None:
    """Moods, a background, and the rest in the gallery; what is no picture, or leads elsewhere, is left out."""
    written = f"data:image/png;base64,{base64.b64encode(picture(width=9)).decode()}"
    assets = [
        {"type": "icon", "uri": "embeded://assets/face.png", "name": "main", "ext": "png"},
        {"type": "emotion", "uri": "embeded://assets/joy.png", "name": "joy", "ext": "png"},
        {"type": "background", "uri": "embeded://assets/bay.png", "name": "bay", "ext": "png"},
        {"type": "background", "uri": "embeded://assets/bay.png", "name": "../../bay two", "ext": "png"},
        {"type": "x-art", "uri": written, "name": "sketch.png", "ext": "png"},
        {"type": "emotion", "uri": "embeded://assets/script.html", "name": "evil", "ext": "html"},
        {"type": "emotion", "uri": "https://example.org/sad.png", "name": "sad", "ext": "png"},
        {"type": "emotion", "uri": "embeded://../../etc/passwd", "name": "passwd", "ext": "png"},
        "nonsense",
    ]
    files = {f"assets/{each}.png": picture(width=width) for each, width in (("face", 5), ("joy", 6), ("bay", 7))}
    card = tmp_path / "moth.charx"
    card.write_bytes(charx({**V3, "data": {**V3["data"], "assets": assets}}, **files, **{"assets/script.html": b"<b>"}))
    root = make_from_card(tmp_path, "moth", read_card_file(card)).root
    there = {f"{each.parent.name}/{each.name}" for each in root.rglob("*.png")}

    assert there == {
        "moth/picture.png",
        "moth/background.png",
        "expressions/joy.png",
        "gallery/bay two.png",
        "gallery/sketch.png",
    }


async def upload(page: PageClient, path: str, kind: str, **files: bytes) -> Answered:
    parts = [b'Content-Disposition: form-data; name="kind"\r\n\r\n' + kind.encode()]
    parts += [
        f'Content-Disposition: form-data; name="file"; filename="{name}.png"\r\n\r\n'.encode() + content
        for name, content in files.items()
    ]
    body = b"".join(b"--xx\r\n" + each + b"\r\n" for each in parts) + b"--xx--\r\n"
    given_as = {"origin": page.origin, "content_type": "multipart/form-data; boundary=xx"}
    return await asyncio.to_thread(page.ask, "POST", path, body, **given_as)


async def test_pictures_are_added_used_and_removed(tmp_path: Path) -> None:
    """As the face, behind chats and as a mood; the mood of the last reply stands beside the chat."""
    async with scripted_familiar(tmp_path, lambda _: "Aye.") as house, served_page(house.familiar) as page:
        root, store = house.familiar.root, house.familiar.history_store
        await upload(page, "/gallery", "", harbour=plain_picture(5, 5), **{"<b>": plain_picture(6, 6)})
        await upload(page, "/gallery", "expression", joy=plain_picture(7, 7), neutral=plain_picture(8, 8))
        refused = await upload(page, "/gallery", "", evil=b"<svg onload=alert(1)>")
        shown = (await ask(page, "/gallery")).body
        for what in ("face", "behind"):
            await send(page, "/gallery/use", name="harbour", **{"as": what})
        await send(page, "/gallery/use", name="harbour", label="../Anger", **{"as": "mood"})
        unknown = await send(page, "/gallery/use", name="../character", **{"as": "gone"})
        store.append_turn(familiar_id="ember", channel_id=1, role="assistant", content="*smiles brightly*")
        glad = (await ask(page, "/chats/1")).body
        store.append_turn(familiar_id="ember", channel_id=1, role="assistant", content="*growls, furious*")
        angry = (await ask(page, "/chats/1")).body
        await send(page, "/gallery/use", name="harbour", **{"as": "gone"})
        kept = sorted(each.name for each in (root / "gallery").iterdir())
        moods = sorted(each.name for each in (root / "expressions").iterdir())

    assert (refused.status, unknown.status) == (400, 400)
    assert "harbour" in shown
    assert "<b>" not in shown
    assert [(root / f"{each}.png").read_bytes() for each in ("picture", "background")] == [plain_picture(5, 5)] * 2
    assert '<p class="mood" aria-hidden="true"><img src="/f/ember/gallery/expression?name=joy&amp;v=' in glad
    assert '<img src="/f/ember/gallery/expression?name=Anger&amp;v=' in angry
    assert 'data-mood="/f/ember/gallery/expression?name=joy' in angry
    assert kept == ["b.png"]
    assert moods == ["Anger.png", "joy.png", "neutral.png"]
