"""Which files are GPU libraries, and their versions: from the real file name, or a twin that has one."""

import filecmp
import os
import re
from pathlib import Path
from typing import NamedTuple

_NAMES = (
    ("umd", re.compile(r"lib(?:fakecuda|cuda)\.so(?:\.(?P<version>\d+\.[\d.]*\d)|\.\d+)?")),
    (
        "runtime",
        re.compile(r"lib(?:fakecudart|cudart)(?:-[0-9a-f]{6,})?\.so(?:\.(?P<version>\d+\.[\d.]*\d)|\.\d+)?"),
    ),
    ("management", re.compile(r"lib(?:fakeml|nvidia-ml)\.so(?:\.(?P<version>\d+\.[\d.]*\d)|\.\d+)?")),
)


class Library(NamedTuple):
    """``what`` as in Mapping; ``version`` "" where the file name has none."""

    what: str
    version: str


def library(path: str) -> Library | None:
    """The GPU library that a path is, ``None`` for any other file."""
    name = os.path.basename(path.removesuffix(" (deleted)"))
    for what, pattern in _NAMES:
        found = pattern.fullmatch(name)
        if found:
            return Library(what, found["version"] or "")
    return None


class Versions:
    """Versions of libraries whose own name does not tell.

    A package that can't hold links has libX.so.1 as a copy of libX.so.1.2.3:
    the twin beside it, equal byte by byte, has the version in its name.
    """

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._known: dict[tuple[str, int], str] = {}

    def of(self, pid: int, path: str, inode: int) -> str:
        """The version, "" where no twin tells."""
        key = (path, inode)
        if key not in self._known:
            try:
                self._known[key] = self._twin(Path(f"{self._proc}/{pid}/root{path}"))
            except OSError:
                self._known[key] = ""
        return self._known[key]

    def _twin(self, file: Path) -> str:
        stem = file.name.partition(".so")[0]
        size = file.stat().st_size
        for other in sorted(file.parent.glob(f"{stem}.so.*")):
            kind = library(str(other))
            if (
                kind
                and kind.version
                and other.stat().st_size == size
                and filecmp.cmp(file, other, shallow=False)
            ):
                return kind.version
        return ""
