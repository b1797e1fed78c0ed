"""Lines in, facts out: the table of patterns, and what needs more than one line.

Owns the state of one text: the command whose output is being read, the kernel
message that goes on over several lines. Pure; a line that fits nothing is passed over.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from glassstack.diagnose import clean, special
from glassstack.diagnose.evidence import Fact, Where
from glassstack.diagnose.joining import Joiner
from glassstack.diagnose.patterns import PATTERNS
from glassstack.diagnose.scan import Raw

_COMMANDS = (
    r"cat|ls|lsmod|rmmod|modprobe|modinfo|nvidia-smi|nvidia-ctk|sudo|docker|podman|kubectl|grep"
    r"|ldconfig|dpkg|rpm|apt|systemctl|journalctl|dmesg|ulimit|env|printenv|strace|getent|id"
    r"|uname|mokutil|snap|mount|find|echo|head|tail|lspci|lsof|fuser|crictl|sysctl|python|python3"
    r"|reboot|export|stat"
)
_PROMPT = re.compile(
    r"^(?:\[?[\w.-]+@[\w.-]+[: ][^$#%]{0,80}\]?|\([\w.-]+\) )?[$#%] +"
    rf"(?P<command>(?:{_COMMANDS})\b.*)"
)
_SECTION = re.compile(r"^(?:\*\*\* (?P<report>/\S+)|==> (?P<tail>\S+) <==)")
_ENVIRON = re.compile(rb"^\w+=[^\0]*\0\w+=")


class Recogniser:
    """Reads one text line by line.

    Args:
        name: the text's name, for proofs and as a hint of what it is.
        did: counts what cleaning did.
    """

    def __init__(self, name: str, did: Counter[str]) -> None:
        self._name, self._did = name, did
        self._joiner = Joiner()
        self._special = special.Special()
        self.command = f"cat {name}"

    def feed(self, raw: Raw) -> Iterator[Fact]:
        """The facts in one raw line."""
        parts = raw.data.split(b"\0")[:512] if _ENVIRON.match(raw.data) else (raw.data,)
        for part in parts:
            for one in clean.unwrap(clean.decode(part, self._did), self._did):
                yield from self._line(one.text, Where(self._name, raw.number, one.stamp))

    def end(self) -> Iterator[Fact]:
        """What was still waiting for more lines."""
        yield from self._joiner.end()

    def _line(self, text: str, where: Where) -> Iterator[Fact]:
        text = text.rstrip()
        prompt = _SECTION.match(text) if text.startswith(("*** ", "==> ")) else None
        if prompt is None and ("$ " in text or "# " in text or "% " in text):
            prompt = _PROMPT.match(text)
        if prompt:
            self.command = next((group for group in prompt.groups() if group), "")
            if not text.startswith(("*** ", "==> ")):
                text = self.command
            self._special.begin(self.command, where)
        low = text.lower()
        yield from self._joiner.feed(text, low, where)
        yield from _by_table(text, low, where)
        yield from self._special.feed(text, low, where, "" if prompt else self.command)


def _by_table(text: str, low: str, where: Where) -> Iterator[Fact]:
    seen: set[str] = set()
    for number in sorted(set(_ALWAYS).union(*map(_hinted, _TOKEN.findall(low)))):
        row = PATTERNS[number]
        if row.word in low and row.kind not in seen:
            found = row.form.search(text)
            if found:
                seen.add(row.kind)
                yield Fact(row.kind, fields(found.groupdict()), where, text)


_TOKEN = re.compile(r"[a-z_]{2,}")
_KEYS = tuple(max(_TOKEN.findall(row.word), key=len, default="") for row in PATTERNS)
_ALWAYS = tuple(number for number, key in enumerate(_KEYS) if not key)


@lru_cache(16_384)
def _hinted(token: str) -> tuple[int, ...]:
    """The rows that a word of a line makes possible: most words make none, and logs repeat their words."""
    return tuple(number for number, key in enumerate(_KEYS) if key and key in token)


def fields(groups: Mapping[str, str | None]) -> dict[str, str]:
    """The groups that took part, stripped."""
    return {name: value.strip() for name, value in groups.items() if value is not None}
