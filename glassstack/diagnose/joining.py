"""Kernel messages that the driver writes over several lines, put together again. Pure."""

import re
from collections.abc import Iterator

from glassstack.diagnose.evidence import Fact, Where
from glassstack.diagnose.patterns import JOINED

LINES_MAX = 7
_PREFIX = re.compile(r"\b(?:NVRM|FGPU): ?")
_STARTS = re.compile(r"API mismatch:|The NVIDIA (?:GPU|device|graphics)|This can occur when")
_OTHER = re.compile(r"Xid|GPU |loading |RmInit|No NVIDIA|The NVIDIA probe|None of|krc|nv[A-Z]|NVRM|gpu[A-Z]")
_HALF = re.compile(r"API mismatch: the client.* has the version (?P<client>[\d.]+\d)")


class Joiner:
    """Holds one message that is not complete yet."""

    def __init__(self) -> None:
        self._text, self._raw, self._lines = "", "", 0
        self._where: Where | None = None

    def feed(self, text: str, low: str, where: Where) -> Iterator[Fact]:
        """The facts that this line completes."""
        if self._where is None and "mismatch" not in low and "nvidia" not in low and "this can" not in low:
            return
        prefix = _PREFIX.search(text)
        told = text[prefix.end() :] if prefix else text
        if prefix and _STARTS.match(told):
            yield from self.end()
            self._text, self._raw, self._where, self._lines = told, text, where, 1
        elif self._where is not None and self._goes_on(bool(prefix), text, told):
            self._text = f"{self._text} {told.strip()}"
            self._raw = f"{self._raw} {told.strip()}"
            self._lines += 1
        else:
            return
        yield from self._whole()
        if self._lines >= LINES_MAX:
            yield from self.end()

    def _goes_on(self, prefixed: bool, text: str, told: str) -> bool:
        if prefixed:
            return not _OTHER.match(told)
        return self._lines > 0 and text.startswith("    ") and bool(text.strip())

    def _whole(self) -> Iterator[Fact]:
        assert self._where is not None
        low = self._text.lower()
        for row in JOINED:
            found = row.form.search(self._text) if row.word in low else None
            if found:
                groups = {name: value for name, value in found.groupdict().items() if value is not None}
                yield Fact(row.kind, groups, self._where, self._raw)
                self._where = None
                return

    def end(self) -> Iterator[Fact]:
        """Gives up waiting; half of a version mismatch still names one side."""
        where, self._where = self._where, None
        half = _HALF.search(self._text) if where is not None else None
        if where is not None and half:
            yield Fact("api_mismatch", {"client": half["client"]}, where, self._raw)
