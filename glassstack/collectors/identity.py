"""Who a process is: what rarely changes about it, looked up once and kept.

Owns the parsing of /proc/PID/stat and the cache keyed by (pid, start time,
name). A process that gets another user or command line under the same name
shows its old one until REFRESH looks later.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from glassstack.collectors.cgroup_mounts import Membership, memberships
from glassstack.collectors.containers import container_of_any

REFRESH = 60
"""Looks after which the kept facts of a process are looked up again."""
_KERNEL_THREAD = 0x00200000
_COMMAND_MAX = 512


class Stat(msgspec.Struct, gc=False):
    """The fields of /proc/PID/stat in use. ``cpu``, ``start``: clock ticks; ``rss``: pages."""

    name: str
    state: str
    ppid: int
    kernel_thread: bool
    cpu: int
    threads: int
    start: int
    rss: int


@dataclass(frozen=True)
class Identity:
    """What is kept of a process. ``ns_pids`` runs from the host's view to the innermost."""

    command: str
    user: str
    started: float
    ns_pids: tuple[int, ...]
    cgroup: str
    container: str


def read_short(path: str) -> bytes:
    """Content of a proc file of less than a page, which the kernel gives whole. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def read_bytes(path: str) -> bytes:
    """Content of a proc file, without the cost of a buffered reader. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def read_stat(proc: str, pid: int) -> Stat:
    """Raises OSError when the process is gone, ValueError when it is not a stat file."""
    data = read_short(f"{proc}/{pid}/stat")
    opened, closed = data.index(b"("), data.rindex(b")")  # the name may hold both
    rest = data[closed + 2 :].split()
    if len(rest) < 22:
        raise ValueError(f"{proc}/{pid}/stat: too short")
    return Stat(
        name=data[opened + 1 : closed].decode("utf-8", "replace"),
        state=rest[0].decode(),
        ppid=int(rest[1]),
        kernel_thread=bool(int(rest[6]) & _KERNEL_THREAD),
        cpu=int(rest[11]) + int(rest[12]),
        threads=int(rest[17]),
        start=int(rest[19]),
        rss=int(rest[21]),
    )


def pids(proc: str) -> list[int]:
    """Processes that this procfs shows."""
    return sorted(int(name) for name in os.listdir(proc) if name.isdigit())


class Identities:
    """The cache. ``proc`` must be the procfs that psutil reads too (psutil.PROCFS_PATH)."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = str(proc)
        self._known: dict[int, tuple[tuple[int, str], int, Identity]] = {}
        self._look = 0

    def begin(self, alive: list[int]) -> None:
        """Starts a look: forgets processes that are no longer there."""
        self._look += 1
        if len(self._known) > 2 * len(alive):
            self._known = {pid: self._known[pid] for pid in alive if pid in self._known}

    def of(self, pid: int, stat: Stat) -> Identity:
        """Who it is. Raises OSError or psutil.Error when it is gone."""
        key = (stat.start, stat.name)
        known = self._known.get(pid)
        if known and known[0] == key and self._look - known[1] < REFRESH:
            return known[2]
        identity = self._find(pid)
        # Spread over the rounds, so that the refreshes of many don't fall into one.
        self._known[pid] = (key, self._look - pid % REFRESH if not known else self._look, identity)
        return identity

    def _find(self, pid: int) -> Identity:
        process = psutil.Process(pid)
        with process.oneshot():
            command = " ".join(process.cmdline())[:_COMMAND_MAX]
            started = process.create_time()
            user = process.username()
        lines = memberships(read_bytes(f"{self._proc}/{pid}/cgroup").decode("utf-8", "surrogateescape"))
        container = container_of_any(line.path for line in lines)
        return Identity(
            command=command,
            user=user,
            started=started,
            ns_pids=self._ns_pids(pid),
            cgroup=main_path(lines),
            container=container.label if container else "",
        )

    def _ns_pids(self, pid: int) -> tuple[int, ...]:
        for line in read_bytes(f"{self._proc}/{pid}/status").splitlines():
            if line.startswith(b"NSpid:"):
                return tuple(int(word) for word in line.split()[1:])
        return (pid,)


def main_path(lines: list[Membership]) -> str:
    """The one path to show for a process: v2's, else memory's, else the first that is not the root."""
    by_weight = sorted(lines, key=lambda line: (line.version != 2, "memory" not in line.controllers))
    return next((line.path for line in by_weight if line.path != "/"), "/" if lines else "")
