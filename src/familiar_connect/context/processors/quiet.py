"""QuietTidy: Tidy for a reply that may be none. The mark of silence ends it before a word is shown."""

from __future__ import annotations

from collections.abc import Iterable

from familiar_connect.chat.silence import SilenceFilter
from familiar_connect.context.processors.output_filter import OutputFilter


class SilenceAwareOutputFilter(OutputFilter):
    """As Tidy, and without the mark of silence wherever it stands."""

    def __init__(self, own_names: Iterable[str], other_names: Iterable[str]) -> None:
        super().__init__(own_names, other_names)
        self._silence = SilenceFilter()

    def fresh(self) -> SilenceAwareOutputFilter:
        return SilenceAwareOutputFilter(self._own, self._others)

    def feed(self, piece: str) -> str:
        shown = self._silence.feed(super().feed(piece))
        if self.ended:  # someone else's words follow: what was held back is the end
            shown += self._silence.close()
        self.ended = self.ended or self._silence.silent
        return shown

    def close(self) -> str:
        return self._silence.feed(super().close()) + self._silence.close()
