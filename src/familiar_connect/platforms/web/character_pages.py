"""CharacterPages: the character as one form: who it is, how it greets, how it talks.

Each field is a file of `self/`, the same one that any editor changes. A field that changed meanwhile is brought
together with what is there, or shown beside it; the other fields are saved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from familiar_connect.errors import MemoryStoreError
from familiar_connect.familiar import Familiar
from familiar_connect.memory.maintenance.owner_edits import NO_FILE, delete_edited, edit_base, save_edit
from familiar_connect.platforms.web.render import PageRenderer, make_routes, read_form, redirect
from familiar_connect.presets.greetings import join_greetings, split_greetings
from familiar_connect.support.aio import off_loop
from familiar_connect.support.tokens import estimate_tokens

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

GREETINGS = "alternate_greetings"
MOST_GREETINGS = 16
"""Fields for greetings in the form; the last one holds all that are more, with a line between each two."""
MAX_BASE_CHARS = 100


@dataclass(frozen=True, kw_only=True)
class CardField:
    """One field of the form, and what the file is called that it stands in."""

    name: str
    label: str
    kind: str = "text"
    note: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> str:
        return f"self/{self.name}.md"


WHO = (
    CardField(name="name", label="Name", kind="line"),
    CardField(name="description", label="Description", note="Who it is; every prompt has it."),
    CardField(name="personality", label="Personality"),
    CardField(name="scenario", label="Scenario"),
)
FIRST = CardField(name="first_mes", label="First message", note="How a new chat begins.")
TALK = (
    CardField(
        name="mes_example",
        label="Example dialogue",
        note="<START> starts each piece; {{user}} and {{char}} stand for the names.",
    ),
)
MORE = (
    CardField(name="system_prompt", label="Its own system prompt"),
    CardField(name="post_history_instructions", label="Words after the chat"),
    CardField(name="depth_prompt", label="Character's note, in the chat"),
    CardField(name="tags", label="Tags", kind="lines", note="One a line."),
    CardField(
        name="nickname", label="Nickname", kind="line", note="What {{char}} stands for, where it is not the name."
    ),
    CardField(name="creator_notes", label="Notes of its author", kind="lines", note="For people; no prompt has them."),
    CardField(name="character_version", label="Version", kind="line"),
)
FIELDS = (*WHO, FIRST, *TALK, *MORE, CardField(name=GREETINGS, label="Other greetings"))
BY_NAME = {each.name: each for each in FIELDS}


@dataclass(frozen=True, kw_only=True)
class CardForm:
    """What the form shows: the text of each file, and of which text it was made."""

    texts: dict[str, str]
    bases: dict[str, str]

    @property
    def greetings(self) -> list[str]:
        """The other greetings, one for each field, and an empty field for one more."""
        found = split_greetings(self.texts[GREETINGS])
        if len(found) < MOST_GREETINGS:
            return [*found, ""]
        last = MOST_GREETINGS - 1
        return [*found[:last], join_greetings(found[last:])]


class CharacterPages:
    """The routes `/character`."""

    def __init__(self, familiar: Familiar, renderer: PageRenderer) -> None:
        self._store = familiar.memory_store
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        handlers = (("/character", self.show, "GET"), ("/character", self.save, "POST"))
        return make_routes(handlers, self._renderer)

    async def show(self, request: Request) -> Response:
        """The form."""
        done = request.query_params.get("done", "")
        return await off_loop(self._show, "Saved. It takes effect from the next reply on." if done == "saved" else "")

    def _show(self, done: str) -> Response:
        found = {each.name: self._store.read_if_present(each.path) for each in FIELDS}
        texts = {name: text or "" for name, text in found.items()}
        return self._page(
            CardForm(texts=texts, bases={name: edit_base(text) for name, text in found.items()}), done=done
        )

    def _page(
        self,
        form: CardForm,
        *,
        clashes: dict[str, str] | None = None,
        problems: dict[str, str] | None = None,
        done: str = "",
    ) -> Response:
        """*clashes* are the fields that both sides changed, as their files stand now."""
        return self._renderer.page(
            "character.html",
            status=409 if clashes else 400 if problems else 200,
            title="Character",
            form=form,
            clashes=clashes or {},
            problems=problems or {},
            done=done,
            who=WHO,
            first=FIRST,
            talk=TALK,
            more=MORE,
            tokens={name: estimate_tokens(text) for name, text in form.texts.items()},
        )

    async def save(self, request: Request) -> Response:
        """Write what was changed; a conflict is shown and nothing is lost."""
        sent = await read_form(request)
        return await off_loop(self._save, sent)

    def _save(self, sent: dict[str, str]) -> Response:
        form, clashes, problems = _read_form(sent), {}, {}
        for field in FIELDS:
            if field.name not in form.texts or field.name not in form.bases:
                continue
            try:
                theirs = self._save_field(field, form.texts[field.name], form.bases[field.name])
            except MemoryStoreError as error:  # the words stay in the form
                problems[field.label] = str(error)
                continue
            if theirs is not None:
                clashes[field.name] = theirs
        if not clashes and not problems:
            return redirect("/character?done=saved")
        return self._page(self._go_on(form, clashes, problems), clashes=clashes, problems=problems)

    def _save_field(self, field: CardField, text: str, base: str) -> str | None:
        """Write one file; what it says now where both sides changed it, None where it is saved."""
        if text.strip():
            done = save_edit(self._store, field.path, text, base=base)
            return done.current if done.result == "conflict" else None
        if base == NO_FILE or delete_edited(self._store, field.path, base=base):
            return None
        return self._store.read_if_present(field.path)

    def _go_on(self, form: CardForm, clashes: dict[str, str], problems: dict[str, str]) -> CardForm:
        """The form again: with what was written where it was not saved, else with what its file says."""
        texts, bases = {}, {}
        for field in FIELDS:
            there = self._store.read_if_present(field.path)
            is_kept = field.name in clashes or field.label in problems
            texts[field.name] = form.texts.get(field.name, "") if is_kept else there or ""
            bases[field.name] = form.bases[field.name] if field.label in problems else edit_base(there)
        return CardForm(texts=texts, bases=bases)


def _read_form(sent: dict[str, str]) -> CardForm:
    texts = {each.name: sent[each.name] for each in FIELDS if each.name in sent}
    greetings = [sent.get(f"greeting_{number}", "") for number in range(1, MOST_GREETINGS + 1)]
    listed = [text.replace("\r\n", "\n") for text in greetings if text.strip()]
    texts[GREETINGS] = join_greetings(listed)
    return CardForm(
        texts=texts,
        bases={each.name: sent[f"base_{each.name}"][:MAX_BASE_CHARS] for each in FIELDS if f"base_{each.name}" in sent},
    )
