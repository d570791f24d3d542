"""SIGNALS: what each part of a hit's score means, in words for whoever asked why it was found."""

from __future__ import annotations

SIGNALS = {
    "words": "the question's words stand in it, rare ones counting more",
    "words around": "they stand in it or right beside it",
    "conversation": "they stand somewhere in the same conversation or file",
    "conversation's meaning": "something in the same conversation or file means something near",
    "meaning": "it means something near, whatever the words",
    "meaning around": "what stands right beside it does",
    "an answer": "what stands right before it is a question of that meaning",
    "who": "said by, or about, somebody the question names",
    "when": "from the time the question names",
    "substance": "it says more than a word or two",
    "a question": "it is itself a question, and those seldom answer one",
    "recency": "it is recent",
    "same channel": "it was said in the channel given with --channel",
}
