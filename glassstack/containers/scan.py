"""Finding the driver's libraries in the root of an image, where only injection may put them.

Owns the walk and the naming habits. Follows no link, so it never leaves the
root; reads no more of a file than its dynamic section.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from glassstack.containers.elf import soname

_FAKE = re.compile(r"lib(?:fakecuda|fakeml)\.so(?:\.(?P<version>[\d.]+))?", re.ASCII)
# libnvidia-container is the toolkit's own, which does the injecting.
_REAL = re.compile(
    r"lib(?:cuda|cudadebugger|nvcuvid|nvoptix|nvidia-(?!container)[\w-]+|(?:GLX|EGL|GLESv\d(?:_CM)?)_nvidia)"
    r"\.so(?:\.(?P<version>[\d.]+))?",
    re.ASCII,
)
_COMPAT = re.compile(r"(?:^|/)compat(?:_orig)?(?:/|$)|(?:^|/)cuda-compat")
_STUBS = re.compile(r"(?:^|/)stubs(?:/|$)")


@dataclass(frozen=True)
class Found:
    """A library of a driver.

    Attributes:
        path: from the root, beginning with "/".
        kind: "driver", "compat" (of a forward-compatibility package) or "stub" (to link with, never to run).
        by: "name", "soname" or "name and soname".
        soname: "" where it has none.
        version: of the driver, "" where its name does not tell it.
    """

    path: str
    kind: str
    by: str
    soname: str
    version: str


def scan(root: Path, unreadable: Callable[[Path, str], None] = lambda path, why: None) -> Iterator[Found]:
    """All of them below a root, on its file system.

    Args:
        unreadable: told of each folder or file that can't be looked into, and why.

    Raises:
        OSError: the root itself can't be read.
    """
    device = os.stat(root).st_dev
    os.scandir(root).close()
    folders = [root]
    for folder in folders:  # which grows meanwhile: the upper ones come first
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            unreadable(folder, error.strerror or str(error))
            continue
        for entry in inside:
            try:
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode) and info.st_dev == device:
                    folders.append(Path(entry))
                elif stat.S_ISREG(info.st_mode) and (found := _look(root, Path(entry))):
                    yield found
            except OSError as error:
                unreadable(Path(entry), error.strerror or str(error))


def _look(root: Path, path: Path) -> Found | None:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        own = soname(file)
    by_name, by_soname = _match(path.name), _match(own)
    if not by_name and not by_soname:
        return None
    version = next((m["version"] for m in (by_name, by_soname) if m and "." in (m["version"] or "")), "")
    by = " and ".join(word for word, hit in (("name", by_name), ("soname", by_soname)) if hit)
    inside = "/" + str(path.relative_to(root))
    return Found(inside, _kind(str(path.parent.relative_to(root))), by, own, version)


def _match(name: str) -> re.Match[str] | None:
    return _FAKE.fullmatch(name) or _REAL.fullmatch(name)


def _kind(folder: str) -> str:
    if _STUBS.search(folder):
        return "stub"
    return "compat" if _COMPAT.search(folder) else "driver"
