"""What a letter is in any script: with the signs written onto it, and whether its script puts spaces between words."""

from __future__ import annotations

import re
import unicodedata

_SIGNS_FROM, _SIGNS_TO = 0x0300, 0x1900
"""Between them stand the marks that belong to a letter: accents, and vowels of Hebrew, Arabic, Indic and Thai."""
MARKS = "".join(chr(code) for code in range(_SIGNS_FROM, _SIGNS_TO) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Japanese, Chinese, Thai, Lao, Burmese and Khmer."""
LETTER = rf"[^\W\d_][{MARKS}]*"
"""One letter with what is written onto it."""
