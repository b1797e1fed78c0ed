"""Who holds a device: descriptors and mappings of every process that can be looked into, and modules.

Owns the rule of what a device node is, real or embedded. A mapping counts on
its own: it keeps a device in use after its descriptor was closed.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from glassstack.collectors.identity import Identities, pids, read_bytes, read_short, read_stat
from glassstack.collectors.maps import WHOLE, classify, placed
from glassstack.collectors.modules import module_holders
from glassstack.model.entities import Capability, Holder
from glassstack.model.events import Event, Holders
from glassstack.model.values import Source

MAX_MAPPINGS = 64
"""Mappings listed of one process and device; further ones are counted in a last entry."""
_NODE = re.compile(r"/dev/(?:fakegpu|nvidia|dri/|kfd)[^ ]*")
# The embedded device gives out memory files: that is what /proc shows of them.
_EMBEDDED = re.compile(r"/memfd:(fakegpu(?:\d+|ctl|-uvm))")
_HINTS = (b" /dev/", b" /memfd:fakegpu")
_HINTED = re.compile(rb"^[^/\n]*/(?:dev/|memfd:fakegpu)[^\n]*$", re.MULTILINE)
_ACCESS = ("r", "w", "rw", "-")
_CONTEXT = b"fakegpu-context:"


TRUSTED = 15
"""Looks for which a process that has not run is taken to hold what it held: only one that shares
its descriptors with another process could be wrong about that."""


class _Hit(NamedTuple):
    device: str
    how: str
    detail: str
    context: int = 0


class _Quiet(NamedTuple):
    ran: bytes
    hits: list[_Hit]
    looks: int


def device_of(path: str) -> str:
    """The node a descriptor or mapping of that path is of ("/dev/fakegpu0"), "" when of none."""
    if not path.startswith(("/dev/", "/memfd:")):
        return ""
    path = path.removesuffix(" (deleted)")
    embedded = _EMBEDDED.fullmatch(path)
    if embedded:
        return f"/dev/{embedded[1]}"
    return path if _NODE.fullmatch(path) else ""


def _part(device: str, line: list[str]) -> tuple[str, int]:
    """What the device memory of a line of maps is ("doorbell", "ring 1" …), and of which context."""
    start, _, end = line[0].partition("-")
    context, offset = placed(line[5], int(line[2], 16))
    what, channel = classify(device, offset, int(end, 16) - int(start, 16))
    return what if channel is None else f"{what} {channel}", context


def _of(context: int) -> str:
    return f" of context {context}" if context else ""


class HolderCollector:
    """Looks through all processes of a procfs.

    Args:
        drivers: list the embedded device's own process too, as how="driver".
    """

    name = "holders"

    def __init__(
        self,
        proc: Path = Path("/proc"),
        identities: Identities | None = None,
        drivers: bool = False,
        period: float = 2.0,
    ) -> None:
        self.period = period
        self._proc = str(proc)
        self._identities = identities or Identities(proc)
        self._drivers = drivers
        self._quiet: dict[int, _Quiet] = {}
        self.latest: Holders | None = None
        """What the last look gave."""

    def probe(self) -> Capability:
        """Ready always; says when only the own user's processes can be looked into."""
        if os.geteuid() == 0:
            return Capability(self.name, True, "all processes")
        return Capability(self.name, True, "processes of this user only", "run as root to see everybody's")

    def sample(self) -> list[Event]:
        """One Holders event."""
        return [self.look()]

    def look(self) -> Holders:
        """Everybody who holds a device now, by pid; then the modules that hold a module."""
        found: list[Holder] = []
        unreadable = 0
        alive = pids(self._proc)
        self._identities.begin(alive)
        quiet: dict[int, _Quiet] = {}
        for pid in alive:
            try:
                hits = self._hits(pid, quiet)
                found += self._holders(pid, hits) if hits else []
            except PermissionError:
                unreadable += 1
            except (OSError, ValueError, psutil.Error):
                continue  # it ended meanwhile: it holds nothing any more
        self._quiet = quiet
        found += module_holders(self._proc)
        self.latest = Holders(time.monotonic_ns(), Source.POLL, tuple(found), unreadable)
        return self.latest

    def _hits(self, pid: int, quiet: dict[int, _Quiet]) -> list[_Hit]:
        """What a process holds, or held at the last look when it has not run since."""
        ran, known = self._ran(pid), self._quiet.get(pid)
        if known and ran and known.ran == ran and known.looks < TRUSTED:
            quiet[pid] = known._replace(looks=known.looks + 1)
            return known.hits
        hits = [*self._descriptors(pid), *self._mappings(pid)]
        if ran:
            quiet[pid] = _Quiet(ran, hits, 1)
        return hits

    def _ran(self, pid: int) -> bytes:
        """How long and how often it has run; b"" where that can't tell of all its threads."""
        try:
            # A directory's links count its subdirectories: two, and one per thread.
            if os.stat(f"{self._proc}/{pid}/task").st_nlink != 3:
                return b""
            return read_short(f"{self._proc}/{pid}/schedstat")
        except OSError:
            return b""

    def _descriptors(self, pid: int) -> Iterator[_Hit]:
        directory = f"{self._proc}/{pid}/fd"
        for number in sorted(map(int, os.listdir(directory))):
            try:
                device = device_of(os.readlink(f"{directory}/{number}"))
            except FileNotFoundError:
                continue
            if device:
                access, context = self._fdinfo(pid, number)
                yield _Hit(device, "fd", f"fd {number} {access}".strip() + _of(context), context)

    def _fdinfo(self, pid: int, number: int) -> tuple[str, int]:
        """How a descriptor was opened, and of which context it is where the driver tells."""
        try:
            lines = read_bytes(f"{self._proc}/{pid}/fdinfo/{number}").splitlines()
        except OSError:
            return "", 0
        flags = next((int(line.split()[1], 8) for line in lines if line.startswith(b"flags:")), 3)
        context = next((int(line.split()[1]) for line in lines if line.startswith(_CONTEXT)), 0)
        return _ACCESS[flags & 3], context

    def _mappings(self, pid: int) -> Iterator[_Hit]:
        data = read_bytes(f"{self._proc}/{pid}/maps")
        if not any(hint in data for hint in _HINTS):  # a search in C: nearly every process ends here
            return
        count: dict[str, int] = {}
        for line in _HINTED.findall(data):
            parts = line.decode("utf-8", "replace").split(None, 5)
            device = device_of(parts[5]) if len(parts) == 6 else ""
            if device:
                count[device] = count.get(device, 0) + 1
                if count[device] <= MAX_MAPPINGS:
                    part, context = _part(device, parts)
                    # All of a memory file at once: the device itself, which does so with each it gives
                    # out. Its name tells nothing: a package without links has the launcher as a copy.
                    how = "driver" if part == WHOLE and parts[5].startswith("/memfd:") else "mapping"
                    yield _Hit(device, how, f"{parts[0]} {parts[1]} {part}{_of(context)}", context)
        for device, number in count.items():
            if number > MAX_MAPPINGS:
                yield _Hit(device, "mapping", f"{number - MAX_MAPPINGS} more mappings")

    def _holders(self, pid: int, hits: list[_Hit]) -> list[Holder]:
        driver = any(hit.how == "driver" for hit in hits)
        if driver and not self._drivers:
            return []
        stat = read_stat(self._proc, pid)
        who = self._identities.of(pid, stat)
        return [
            Holder(
                pid=pid,
                command=who.command or stat.name,
                user=who.user,
                device=hit.device,
                how="driver" if driver else hit.how,
                detail=hit.detail,
                cgroup=who.cgroup,
                container=who.container,
                ns_pid=who.ns_pids[-1],
                context=hit.context,
            )
            for hit in hits
        ]
