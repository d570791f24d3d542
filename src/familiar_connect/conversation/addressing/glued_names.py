"""judge_glued: a name to whose end words are written on, in scripts that do so: what is written on tells its part."""

from __future__ import annotations

import re

_HONORIFIC = re.compile(r"^(?:ちゃん|さん|くん|さま|様|たん|先生|님|씨|酱|姐|哥)")
_KANA = re.compile(r"[\u3041-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7ff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_BREAK = re.compile(r"^\s*(?:[、，,！!？?。…~〜♪]|$)")

_JAPANESE_PART = re.compile(r"^(?:って|は|が|の|を|に|と|も|から|より|なら|へ|で|や)")
_JAPANESE_BEFORE = re.compile(r"[のをにがはとへでや]$")
_JAPANESE_WANTS = re.compile(r"(?:どう|何|なに|好き|元気|知って|思う|覚えて|できる|いる)[^。]*[?？]?$")
_JAPANESE_GREETING = re.compile(
    r"(?:おやすみ(?:なさい)?|おはよう(?:ございます)?|ありがとう(?:ございます)?|こんにちは|"
    r"こんばんは|ごめん(?:ね)?|ねえ|ただいま|おめでとう|お疲れ)[、\s]*$"
)
_KOREAN_CALL = re.compile(r"^(?:야|아|이?여)(?=[\s,!?~.]|$)")
_KOREAN_PART = re.compile(
    r"^(?:은|는|이|가|을|를|의|한테|에게|랑|이랑|와|과|도|만|께서|께|보다|처럼|이?라고|"
    r"이?라는|네|에)(?=\s|$)"
)
_KOREAN_GREETING = re.compile(
    r"(?:고마워요?|감사해요?|안녕(?:하세요)?|미안(?:해)?요?|잘\s?자요?|축하해요?|"
    r"사랑해요?|ㅎㅇ|하이)[\s,!~]*$"
)
_CHINESE_AFTER = re.compile(
    r"^(?:说|說|的|是|在|今天|昨天|刚|剛|也|会|會|又|真|太|就|都|不|没|沒|好像|怎么不|"
    r"告诉|写|回|和|跟|很|把|被|给)"
)
_CHINESE_BEFORE = re.compile(
    r"(?:问了?|問了?|和|跟|对|對|叫|有|把|被|给|給|让|讓|像|喜欢|喜歡|告诉|告訴|的|了|是|"
    r"在|找|用|比|下|因为|关于|為|为)$"
)
_CHINESE_GREETING = re.compile(
    r"(?:晚安|谢谢|謝謝|感谢(?:你|您)?(?:了|啦)?|多谢(?:了|啦)?|辛苦(?:了|啦)|恭喜(?:了|啦)?|欢迎(?:回来)?|你好|早安|早啊?|嗨|嘿|哈喽|对不起|再见|多谢|生日快乐|喂|"
    r"好了)[，,\s]*$"
)


Judgement = tuple[bool, bool]
"""Whether the name is called, and whether that is sure."""


def judge_glued(before: str, after: str) -> Judgement | None:
    """Whether the name between *before* and *after* is called; None: these scripts have no say in it."""
    after = _HONORIFIC.sub("", after)
    if _HANGUL.search(before + after):
        return _judge_korean(before, after)
    if _KANA.search(before + after):
        return _judge_japanese(before, after)
    return _judge_chinese(before, after) if _HAN.search(before + after) else None


def _judge_korean(before: str, after: str) -> Judgement:
    if _KOREAN_CALL.match(after) or _KOREAN_GREETING.search(before):
        return True, True
    if _KOREAN_PART.match(after):
        return False, True
    opens, ends = not before.strip(" ,!~"), _BREAK.match(after) is not None
    if ends:
        return True, opens or before.rstrip().endswith(",")
    return opens, False


def _judge_japanese(before: str, after: str) -> Judgement:
    opens = not before.strip(" 、,！!") or before.rstrip()[-1:] in "、。！？!?,"
    if _JAPANESE_GREETING.search(before):
        return True, True
    if _JAPANESE_PART.match(after):
        wants = opens and after[:1] in "はも" and _JAPANESE_WANTS.search(after)
        return bool(wants), not wants
    if _BREAK.match(after):
        return not _JAPANESE_BEFORE.search(before), opens
    return opens, False


def _judge_chinese(before: str, after: str) -> Judgement:
    if _CHINESE_GREETING.search(before):
        return True, True
    if _CHINESE_BEFORE.search(before.rstrip()):
        return False, True
    opens = not before.strip(" ，,！!") or before.rstrip()[-1:] in "，。！？,!?"
    says_you = "你" in before + after or "您" in before + after
    if _BREAK.match(after):
        return opens or says_you, opens
    if _CHINESE_AFTER.match(after.strip()):
        return False, True
    return opens, opens and says_you
