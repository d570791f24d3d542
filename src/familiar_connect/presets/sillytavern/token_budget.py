"""Chat and examples fitted into what room is left: newest lines first, whole examples from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.context.types import DroppedNote, Layer
from familiar_connect.presets.sillytavern.example_dialogue import SOURCE as EXAMPLES_SOURCE
from familiar_connect.presets.sillytavern.js_text import js_trim
from familiar_connect.presets.sillytavern.prepare_card import PreparedCard
from familiar_connect.presets.sillytavern.prompt_collection import PromptCollection, PromptSlots
from familiar_connect.presets.sillytavern.types import Piece, SillyTavernInputs

HISTORY = "chatHistory"
EXAMPLES = "dialogueExamples"


class ChatFitter:
    """One build's chat and examples, and what they had to leave out."""

    def __init__(
        self, inputs: SillyTavernInputs, opening: PreparedCard, collection: PromptCollection, slots: PromptSlots
    ) -> None:
        self._inputs = inputs
        self._read = opening.reader.read
        self._last_said = next((line.text for line in reversed(opening.chat) if not line.is_hidden), "")
        self._own = f"preset:{inputs.preset_name}:"
        self._collection = collection
        self._slots = slots
        self.dropped: list[DroppedNote] = []

    def fit_history(self, chat: list[Piece]) -> None:
        """Puts *chat* (oldest first, texts among it) in its place, from the newest until one does not fit."""
        index = self._collection.index(HISTORY)
        if index is None:
            return
        slots, settings = self._slots, self._inputs.settings
        slots.put(HISTORY, [], index)
        opener = settings.new_group_chat_prompt if self._inputs.is_group else settings.new_chat_prompt
        opening = [Piece("system", self._read(opener), source=self._own + "new_chat", apart=True)]
        nudge = self._group_nudge()
        slots.reserve([*opening, *nudge])
        chat, continued = self._continue(chat)
        slots.reserve(continued)
        self._answer_silence(chat)
        self._fill(chat)
        slots.free(opening)
        slots.insert(HISTORY, opening[0], first=True)
        slots.free(nudge)
        for piece in nudge:
            slots.insert(HISTORY, piece)
        slots.free(continued)
        if continued:
            slots.put("continueNudge", continued)

    def fit_examples(self, blocks: Sequence[Sequence[Piece]]) -> None:
        """Puts whole blocks in their place, from the first until one does not fit."""
        index = self._collection.index(EXAMPLES)
        if index is None:
            return
        slots = self._slots
        slots.put(EXAMPLES, [], index)
        if not blocks:
            return
        text = self._read(self._inputs.settings.new_example_chat_prompt)
        opener = Piece(
            "system",
            text,
            source=self._own + "new_example_chat",
            layer=Layer.examples,
            apart=True,
        )
        for number, block in enumerate(blocks):
            if not slots.has_room_for([opener, *block]):
                lost = sum(slots.total([opener, *left]) for left in blocks[number:])
                text = "\n".join(piece.text for left in blocks[number:] for piece in left)
                self.dropped.append(DroppedNote(Layer.examples, EXAMPLES_SOURCE, "dropped", lost, "window", text))
                return
            for piece in (opener, *block):
                slots.insert(EXAMPLES, piece)

    def _group_nudge(self) -> list[Piece]:
        nudge = self._collection.get("groupNudge")
        if not self._inputs.is_group or nudge is None or self._inputs.kind == "impersonate":
            return []
        return [Piece(nudge.role, nudge.text, source=self._own + "group_nudge", apart=True)]

    def _continue(self, chat: list[Piece]) -> tuple[list[Piece], list[Piece]]:
        """The chat without the message to be continued, and that message with the nudge that follows it."""
        settings = self._inputs.settings
        if self._inputs.kind != "continue" or settings.continue_prefill or not self._last_said:
            return chat, []
        text = self._read(settings.continue_nudge_prompt, last_said=js_trim(self._last_said))
        moved: list[Piece] = []
        at = next((at for at in range(len(chat) - 1, -1, -1) if not chat[at].injected), None)
        if at is not None:
            moved = [replace(chat[at], text=self._read(chat[at].text), name=None)]
            chat = chat[:at] + chat[at + 1 :]
        return chat, [
            *moved,
            Piece("system", self._read(text), source=self._own + "continue_nudge"),
        ]

    def _answer_silence(self, chat: list[Piece]) -> None:
        """The words sent for a user who said nothing after the character."""
        words = self._inputs.settings.send_if_empty
        piece = Piece("user", words, source=self._own + "send_if_empty")
        if words and chat and chat[-1].role == "assistant" and self._slots.has_room_for([piece]):
            self._slots.insert(HISTORY, piece)

    def _fill(self, chat: list[Piece]) -> None:
        for at in range(len(chat) - 1, -1, -1):
            piece = replace(chat[at], text=self._read(chat[at].text))
            if not self._slots.has_room_for([piece]):
                self._note_lost(chat[: at + 1])
                return
            self._slots.insert(HISTORY, piece, first=True)

    def _note_lost(self, lost: list[Piece]) -> None:
        said = [piece for piece in lost if not piece.injected]
        if said:
            tokens = self._slots.total(said)
            text = "\n".join(piece.text for piece in said)
            self.dropped.append(DroppedNote(Layer.recent_history, "chat", "dropped", tokens, "window", text))
        self.dropped.extend(
            DroppedNote(piece.layer, piece.source, "dropped", self._slots.tokens(piece), "window", piece.text)
            for piece in lost
            if piece.injected
        )
