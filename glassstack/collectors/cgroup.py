"""The cgroups of a process: the chain from the root down, its children, and the limits that count.

Owns the walk and the effective limit. Never assumes where cgroups are mounted
or which version a machine has; where something can't be seen it says so.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from glassstack.collectors import cgroup_mounts, cgroup_v1, cgroup_v2
from glassstack.collectors.cgroup_files import CgroupGoneError
from glassstack.collectors.cgroup_limits import Node, with_effective
from glassstack.collectors.cgroup_mounts import Membership, Mount, memberships, mount_of
from glassstack.model.entities import Capability, Cgroup
from glassstack.model.events import Cgroups, Event
from glassstack.model.values import Source

MAX_CHILDREN = 200
"""Children read of one cgroup; more are counted in ``partial``."""
_TRIES = 3
_LIMITING = ("memory", "pids", "cpu")
"""Controllers that limit what is shown, the weightiest first."""


class CgroupCollector:
    """Reads the cgroups of the processes that ``pids`` names.

    Args:
        pids: asked at every look.
        proc: a procfs; root: where the mount points of its mountinfo hang.
    """

    name = "cgroups"

    def __init__(
        self,
        pids: Callable[[], Iterable[int]],
        proc: Path = Path("/proc"),
        root: Path = Path("/"),
        period: float = 2.0,
    ) -> None:
        self.period = period
        self._pids = pids
        self._proc = proc
        self._root = root

    def probe(self) -> Capability:
        """Ready where some cgroup mount limits memory, pids or CPUs."""
        known = _limiting_mounts(self._mounts(), self._root)
        if known:
            versions = " and ".join(f"v{version}" for version in sorted({mount.version for mount in known}))
            return Capability(self.name, True, f"cgroup {versions}")
        return Capability(
            self.name, False, "no cgroup controller is mounted", "mount -t cgroup2 none /sys/fs/cgroup"
        )

    def sample(self) -> list[Event]:
        """One Cgroups event for each process."""
        return [self.of(pid) for pid in self._pids()]

    def of(self, pid: int) -> Cgroups:
        """The cgroups of one process; what can't be read is in the event."""
        for _ in range(_TRIES):
            try:
                lines = memberships(_read(self._proc / str(pid) / "cgroup"))
                return self._build(pid, lines)
            except CgroupGoneError:
                continue  # removed, or the process has moved on: ask where it is now
            except OSError as error:
                return self._event(pid, missing=_why(self._proc / str(pid), pid, error))
        return self._event(pid, missing="its cgroup was removed while it was read")

    def _build(self, pid: int, lines: Sequence[Membership]) -> Cgroups:
        known = self._mounts()
        tree: list[Cgroup] = []
        partial: list[str] = []
        own = ""
        for member in _worth_showing(lines, known, self._root):
            mount = mount_of(member, known)
            if mount is None:
                partial.append(f"{_label(member)} {member.path}: no mount here shows it")
                continue
            chain = self._chain(member, mount, lines, known)
            children, more = self._children(chain[-1], member, mount)
            tree += with_effective(chain, children, member.version)
            partial += _unseen(chain[0], member) + (
                [f"{more} more children of {member.path}"] if more else []
            )
            own = own or member.path
        missing = (
            "" if tree else "; ".join(partial) or "no cgroup controller limits memory, pids or CPUs here"
        )
        return self._event(pid, own, tuple(tree), missing, "; ".join(partial) if tree else "")

    def _event(
        self, pid: int, own: str = "", tree: tuple[Cgroup, ...] = (), missing: str = "", partial: str = ""
    ) -> Cgroups:
        return Cgroups(time.monotonic_ns(), Source.POLL, pid, own, tree, missing, partial)

    def _mounts(self) -> list[Mount]:
        try:
            return cgroup_mounts.mounts(_read(self._proc / "self" / "mountinfo"))
        except OSError:
            return []

    def _chain(
        self, member: Membership, mount: Mount, lines: Sequence[Membership], known: Sequence[Mount]
    ) -> list[Node]:
        inside = cgroup_mounts.relative(member.path, mount.root)
        assert inside is not None, "mount_of() chose a mount that shows the path"
        paths = [mount.root]
        for part in PurePosixPath(inside).parts:
            paths.append(f"{paths[-1].rstrip('/')}/{part}")
        accounting = _accounting(member, lines, known)
        return [self._node(path, member, mount, accounting) for path in paths]

    def _node(self, path: str, member: Membership, mount: Mount, accounting: Mount | None = None) -> Node:
        directory = cgroup_mounts.directory(mount, path, self._root)
        if member.version == 2:
            return Node(path, directory, cgroup_v2.read(directory))
        counted = cgroup_mounts.directory(accounting, path, self._root) if accounting else None
        return Node(path, directory, cgroup_v1.read(directory, member.controllers, counted))

    def _children(self, own: Node, member: Membership, mount: Mount) -> tuple[list[Node], int]:
        names = sorted(entry.name for entry in _entries(own.directory))
        nodes = []
        for name in names[:MAX_CHILDREN]:
            try:
                nodes.append(self._node(f"{own.path.rstrip('/')}/{name}", member, mount))
            except CgroupGoneError:
                continue
        return nodes, max(0, len(names) - MAX_CHILDREN)


def _entries(directory: Path) -> list[Path]:
    try:
        return [entry for entry in directory.iterdir() if entry.is_dir()]
    except OSError as error:
        raise CgroupGoneError(str(directory)) from error


def _read(path: Path) -> str:
    return path.read_text("utf-8", "surrogateescape")


def _why(process: Path, pid: int, error: OSError) -> str:
    if not process.exists() or isinstance(error, ProcessLookupError):
        return f"no process with pid {pid}"
    if isinstance(error, FileNotFoundError):
        return "this kernel has no cgroups"
    return (error.strerror or "cannot be read").lower()


def _label(member: Membership) -> str:
    return "cgroup v2" if member.version == 2 else ",".join(member.controllers)


def _limiting_mounts(known: Iterable[Mount], root: Path) -> list[Mount]:
    return [
        mount
        for mount in known
        if (mount.version == 1 and mount.controllers & set(_LIMITING))
        or (mount.version == 2 and _limits(mount, root))
    ]


def _limits(mount: Mount, root: Path) -> bool:
    """Whether a v2 hierarchy has one of our controllers: next to v1 it often has none."""
    try:
        listed = _read(root / mount.point.lstrip("/") / "cgroup.controllers")
    except OSError:
        return False
    return any(controller in listed.split() for controller in _LIMITING)


def _worth_showing(lines: Iterable[Membership], known: Sequence[Mount], root: Path) -> list[Membership]:
    """The hierarchies that limit something: v2 first, then by the weight of the controller."""
    v1 = [member for member in lines if member.version == 1 and set(_LIMITING) & set(member.controllers)]
    v1.sort(key=lambda member: min(_LIMITING.index(c) for c in member.controllers if c in _LIMITING))
    v2 = [member for member in lines if member.version == 2]
    if v1 and not any(mount.version == 2 and _limits(mount, root) for mount in known):
        v2 = []
    return [*v2, *v1]


def _accounting(member: Membership, lines: Iterable[Membership], known: Sequence[Mount]) -> Mount | None:
    """Where v1 counts CPU time when not in the cpu hierarchy itself."""
    if member.version == 2 or "cpu" not in member.controllers or "cpuacct" in member.controllers:
        return None
    other = next((line for line in lines if "cpuacct" in line.controllers and line.path == member.path), None)
    return mount_of(other, known) if other else None


def _unseen(top: Node, member: Membership) -> list[str]:
    if top.reading.is_root:
        return []
    return [f"{_label(member)}: limits set above {top.path} are not visible here"]
