"""Finds where a process's cgroups are: /proc/PID/cgroup joined with the reader's own mounts.

Owns the text formats of both files. Assumes no layout: v2, v1 with any
grouping of controllers, both at once, bind mounts of subtrees and cgroup
namespaces (paths that begin with /..) all come out of the same join.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Membership:
    """One line of /proc/PID/cgroup. ``controllers`` is empty for v2 (hierarchy 0)."""

    hierarchy: int
    controllers: tuple[str, ...]
    path: str

    @property
    def version(self) -> int:
        """1 or 2."""
        return 1 if self.controllers or self.hierarchy else 2


@dataclass(frozen=True)
class Mount:
    """A cgroup mount that can be reached: ``root`` of the hierarchy is seen at ``point``."""

    version: int
    controllers: frozenset[str]
    root: str
    point: str


@dataclass(frozen=True)
class _Line:
    id: str
    parent: str
    root: str
    point: str
    kind: str
    options: frozenset[str]


def memberships(text: str) -> list[Membership]:
    """Parses /proc/PID/cgroup; lines of another form are left out."""
    found = []
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        names, colon, path = rest.partition(":")  # a path may hold colons itself
        if number.isdigit() and colon and path.startswith("/"):
            controllers = tuple(name for name in names.split(",") if name)
            found.append(Membership(int(number), controllers, path.removesuffix(" (deleted)")))
    return found


def mounts(text: str) -> list[Mount]:
    """Parses mountinfo into the cgroup mounts that are not hidden under another mount."""
    lines = {line.id: line for line in map(_line, text.splitlines()) if line}
    return [
        Mount(2 if line.kind == "cgroup2" else 1, line.options, line.root, line.point)
        for line in lines.values()
        if line.kind in ("cgroup", "cgroup2") and not _hidden(line, lines)
    ]


def unescape(text: str) -> str:
    r"""Undoes the kernel's octal escapes: ``\040`` is a space."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)


def _line(text: str) -> _Line | None:
    left, dash, right = text.partition(" - ")
    before, after = left.split(" "), right.split(" ")
    if not dash or len(before) < 6 or len(after) < 3:
        return None
    options = frozenset(after[2].split(","))
    return _Line(before[0], before[1], unescape(before[3]), unescape(before[4]), after[0], options)


def _hidden(line: _Line, lines: Mapping[str, _Line]) -> bool:
    """Whether its mount point leads to another mount: one on top of it, or a buried one."""
    on_top = any(other.parent == line.id and other.point == line.point for other in lines.values())
    return on_top or _buried(line, lines)


def _buried(line: _Line, lines: Mapping[str, _Line]) -> bool:
    """Whether a later mount covers a directory above its mount point."""
    order = list(lines)
    later = order[order.index(line.id) + 1 :]
    if any(lines[id].parent == line.parent and _below(line.point, lines[id].point) for id in later):
        return True
    parent = lines.get(line.parent)
    if parent is None or parent is line:
        return False
    return _buried(parent, lines) if parent.point == line.point else _hidden(parent, lines)


def _below(path: str, directory: str) -> bool:
    return path != directory and path.startswith(directory.rstrip("/") + "/")


def mount_of(member: Membership, known: Iterable[Mount]) -> Mount | None:
    """The mount that shows most of the member's hierarchy and the member in it; None = not visible."""
    fitting = [
        mount for mount in known if _fits(member, mount) and relative(member.path, mount.root) is not None
    ]
    return min(fitting, key=lambda mount: _depth(mount.root), default=None)


def _fits(member: Membership, mount: Mount) -> bool:
    if member.version == 2:
        return mount.version == 2
    return mount.version == 1 and set(member.controllers) <= mount.controllers


def _depth(root: str) -> int:
    parts = PurePosixPath(root).parts[1:]
    return sum(-1 if part == ".." else 1 for part in parts)


def relative(path: str, root: str) -> str | None:
    """``path`` as seen from ``root``, without a leading slash; None when it is not below it.

    A path that climbs out of the cgroup namespace (/../x) is below a root
    that climbs as high by the same steps; where it climbs higher, the names
    on the way are unknown.
    """
    if path == root:
        return ""
    prefix = root.rstrip("/") + "/"
    if not path.startswith(prefix):
        return None
    rest = path[len(prefix) :].strip("/")
    return None if ".." in rest.split("/") else rest


def directory(mount: Mount, path: str, root: Path) -> Path:
    """Where the cgroup ``path`` is found, mount points hanging below ``root``."""
    inside = relative(path, mount.root)
    assert inside is not None, "mount_of() chose a mount that shows the path"
    return root / mount.point.lstrip("/") / inside
