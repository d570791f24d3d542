"""Replies in any script: none is taken for a collapse, what is said again is noticed, cuts fall between sentences."""

from __future__ import annotations

import pytest

from benchmarks.languages import LanguageSet, read_long_sets, read_sets
from familiar_connect.context.processors.output_filter import filter_output
from familiar_connect.context.processors.reply_guard import ReplyGuard
from familiar_connect.reply.chunks import pack_reply, split_reply_into_chunks
from familiar_connect.support.text import truncate_chars
from familiar_connect.voice.sentences import SentenceCutter

SETS = [*read_sets(), *read_long_sets()]


def shown(reply: str, *earlier: str) -> tuple[str, str | None]:
    """What a guard of a small model lets through of *reply*, letter by letter, and what it says is wrong."""
    guard = ReplyGuard(earlier, by_sentence=True)
    said = "".join(map(guard.feed, reply)) + guard.close()
    return said, guard.fault


@pytest.mark.parametrize("language", SETS, ids=lambda each: each.language)
def test_what_people_say_in_any_language_passes_the_filters(language: LanguageSet) -> None:
    """Each line as a reply, after the five lines before it as earlier ones."""
    facts = [words for _, words, fact in language.lines if fact is not None]
    for number, words in enumerate(facts):
        assert shown(words, *facts[max(0, number - 5) : number]) == (words, None)
        assert filter_output(words, ["Ember"], ["Sam"]) == words


@pytest.mark.parametrize(
    ("earlier", "reply"),
    [
        ("おはようございます！", "おはようございます、ミカさん。"),
        ("そうですね。雨が降りそうです。", "そうですね。私もそう思います。"),
        ("你好呀，今天怎么样？", "你好呀，今天真冷。"),
        ("สวัสดีค่ะ วันนี้เป็นไงบ้าง", "สวัสดีค่ะ กินข้าวหรือยัง"),
    ],
)
def test_a_greeting_may_be_like_an_earlier_one(earlier: str, reply: str) -> None:
    """As in English: a few words are no copy, though they are many signs."""
    assert shown(reply, earlier) == (reply, None)


@pytest.mark.parametrize(
    ("earlier", "reply", "left"),
    [
        (
            "昔々あるところに小さな火の精が住んでいました。とても元気でした。",
            "今日は雨なので家でゆっくり本でも読みましょうか。昔々あるところに小さな火の精が住んでいました。",
            "今日は雨なので家でゆっくり本でも読みましょうか。",
        ),
        (
            "मैं केतली में रहने वाली छोटी सी आग हूँ और गाना पसंद है।",
            "आज बाहर बहुत ठंड है तो चलो साथ बैठकर चाय पीते हैं। मैं केतली में रहने वाली छोटी सी आग हूँ और गाना पसंद है।",
            "आज बाहर बहुत ठंड है तो चलो साथ बैठकर चाय पीते हैं।",
        ),
        (
            "أنا شعلة صغيرة تعيش في إبريق الشاي وتحب الغناء كثيرا؟",
            "أنا شعلة صغيرة تعيش في إبريق الشاي وتحب الغناء كثيرا؟",
            "",
        ),
    ],
)
def test_a_sentence_of_an_earlier_reply_is_not_said_again(earlier: str, reply: str, left: str) -> None:
    """Wherever a script ends its sentences."""
    assert shown(reply, earlier)[0].strip() == left


def test_a_long_reply_is_parted_after_its_sentences_in_any_script() -> None:
    """And put together again without spaces that nobody wrote; a space far before is no place to cut."""
    japanese = "OK 今日は朝から雨でした。傘を持って駅まで歩きました。電車は遅れていました。" * 12
    pieces = pack_reply(japanese, limit=200)
    assert "".join(pieces).replace(" ", "") == japanese.replace(" ", "")
    assert all(piece.endswith("。") and 100 < len(piece) <= 200 for piece in pieces[:-1])
    hindi = "आज सुबह से बारिश हो रही थी। मैं छाता लेकर स्टेशन गया। ट्रेन देर से आई। " * 4
    assert all(piece.endswith("।") for piece in split_reply_into_chunks(hindi, sentence_split_threshold=100))
    assert truncate_chars("میں گھر جا رہا ہوں۔ کل ملیں گے دوست", 22) == "میں گھر جا رہا ہوں۔"


@pytest.mark.parametrize(
    "sentences",
    [
        ["میں گھر پر ہوں۔", " کیا آپ آئیں گے؟"],
        ["မင်္ဂလာပါ။", " နေကောင်းလား။"],
        ["ሰላም ነው።", " ደህና ነህ።"],
        ["你好。", "我很好！"],
    ],
)
def test_a_sentence_is_spoken_as_soon_as_it_ends(sentences: list[str]) -> None:
    """In scripts with stops of their own."""
    cutter = SentenceCutter()
    spoken = cutter.feed("".join(sentences)) + cutter.finish()
    assert spoken == [each.strip() for each in sentences]
