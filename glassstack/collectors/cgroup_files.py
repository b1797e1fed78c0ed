"""Reads the small files of a cgroup directory, v1 or v2 alike.

Owns the difference between "not there", "not readable" and "the cgroup is
gone". Knows no file names and keeps no state.
"""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from glassstack.model.values import Missing

Value = int | float | Missing | None
"""A limit: a number, none (``None``), or why it is not known."""
Amount = int | Missing
"""A usage: a number, or why it is not known."""


class CgroupGoneError(Exception):
    """The cgroup was removed while it was read."""


@dataclass(frozen=True)
class Reading:
    """What one cgroup directory says about itself.

    ``effective`` holds limits the kernel itself reports as those that count, by
    name: they know of ancestors further up than this reader can see.
    """

    controllers: tuple[str, ...]
    limits: Mapping[str, Value]
    usage: Mapping[str, Amount]
    events: Mapping[str, int]
    pids: tuple[int, ...]
    is_root: bool
    effective: Mapping[str, int | None] = field(default_factory=dict)
    local: Mapping[str, int] = field(default_factory=dict)
    pressure: Mapping[str, float] = field(default_factory=dict)


def content(directory: Path, name: str) -> str | Missing | None:
    """Text of a file; ``None`` where the cgroup has no such file. Raises CgroupGoneError."""
    try:
        with open(directory / name, "rb", buffering=0) as file:
            return file.read().decode("utf-8", "surrogateescape").strip()
    except OSError as error:
        if error.errno == errno.ENODEV or not os.path.isdir(directory):
            raise CgroupGoneError(str(directory)) from error
        if error.errno == errno.ENOENT:
            return None
        return Missing(f"{name}: {(error.strerror or 'cannot be read').lower()}")


def whole(directory: Path, name: str, absent: str) -> Amount:
    """A single number; ``absent`` is the reason given where there is no such file."""
    text = content(directory, name)
    if text is None:
        return Missing(absent)
    return text if isinstance(text, Missing) else _integer(text, name)


def keyed(directory: Path, name: str) -> dict[str, int]:
    """A file of "key number" lines; what is not of that form is left out."""
    text = content(directory, name)
    if not isinstance(text, str):
        return {}
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def maximum(directory: Path, name: str) -> Value:
    """A limit that is a number or "max". Absent = nothing is limited here."""
    text = content(directory, name)
    if text is None or text == "max":
        return None
    return text if isinstance(text, Missing) else _integer(text, name)


def members(directory: Path) -> tuple[int, ...]:
    """The processes in it that this PID namespace can see."""
    text = content(directory, "cgroup.procs")
    if not isinstance(text, str):
        return ()
    return tuple(sorted({int(word) for word in text.split() if word.isdigit()} - {0}))


def _integer(text: str, name: str) -> int | Missing:
    try:
        return int(text)
    except ValueError:
        return Missing(f"{name}: not a number: {text[:40]!r}")
