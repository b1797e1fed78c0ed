"""The mappings that matter: device memory told apart by its offset, and the GPU libraries with versions.

Owns the reading of /proc/PID/maps and what each line is. Other lines are passed over.
"""

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from glassstack.collectors.identity import pids as all_pids
from glassstack.collectors.identity import read_bytes
from glassstack.collectors.libraries import Versions, library
from glassstack.collectors.memory import GoneError, UnreadableError, failure
from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders.registry import family
from glassstack.model.entities import Capability, Mapping
from glassstack.model.events import Event, Mappings
from glassstack.model.values import Source

# One pass in C over what may be a hundred thousand lines.
_LINES = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ (\d+) +"
    rb"(/(?:memfd:fakegpu|dev/|(?:[^\n]*/)?lib(?:fake|cuda|nvidia-ml))[^\n]*)$",
    re.MULTILINE,
)
_EMBEDDED = re.compile(r"/memfd:(fakegpu(?:\d+|ctl|-uvm))")
_DELETED = " (deleted)"
WHOLE = "whole space"
"""A mapping of everything, as only the embedded device itself has it."""


def node_of(path: str) -> str:
    """The device node that a mapping's path stands for, "" for none."""
    path = path.removesuffix(_DELETED)
    embedded = _EMBEDDED.fullmatch(path)
    if embedded:
        return f"/dev/{embedded[1]}"
    return path if family(path) else ""


def placed(path: str, offset: int) -> tuple[int, int]:
    """Whose a mapping is and at which offset of its space: (the driver's id of the context, offset).

    The module's contexts share the node's file, so the offset that the kernel
    shows tells them apart; an embedded one has a file of its own: id 0.
    """
    return divmod(offset, uapi.OFF_END) if family(path) == "fakegpu" else (0, offset)


def classify(node: str, offset: int, size: int) -> tuple[str, int | None]:
    """What device memory at that offset is, and of which channel where it is a ring."""
    if family(node) != "fakegpu":
        return "device memory", None
    if offset == 0 and size >= uapi.OFF_BUFFER:
        return WHOLE, None
    if offset >= uapi.OFF_BUFFER:
        return "buffer", None
    ring, within = divmod(offset - uapi.OFF_RING, uapi.RING_STRIDE)
    if 0 <= ring < uapi.MAX_CHANNELS and within >= 0:
        return "ring", ring
    if uapi.OFF_COMPLETION <= offset < uapi.OFF_COMPLETION + uapi.COMPLETION_SIZE:
        return "completion", None
    if offset < uapi.OFF_FENCE + uapi.PAGE:
        return ("fence" if offset >= uapi.OFF_FENCE else "doorbell"), None
    return "device memory", None


def _unescape(raw: bytes) -> str:
    return raw.replace(b"\\012", b"\n").decode("utf-8", "surrogateescape")


class Maps:
    """Reads the mappings of one process at a time.

    Raises from ``read``:
        UnreadableError: with the reason; GoneError when the process has ended.
    """

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = str(proc)
        self._versions = Versions(proc)

    def read(self, pid: int) -> tuple[Mapping, ...]:
        """Device and GPU library mappings, by address."""
        try:
            data = read_bytes(f"{self._proc}/{pid}/maps")
        except OSError as error:
            raise failure(error) from error
        if not data:
            raise GoneError("it has no memory: it has ended, or is a thread of the kernel")
        found = (self._mapping(pid, match) for match in _LINES.finditer(data))
        return tuple(mapping for mapping in found if mapping)

    def _mapping(self, pid: int, match: re.Match[bytes]) -> Mapping | None:
        start, end, perms, offset, inode, name = match.groups()
        path = _unescape(name)
        node = node_of(path)
        what, channel, version = "", None, ""
        context, at = placed(path, int(offset, 16)) if node else (0, int(offset, 16))
        if node:
            what, channel = classify(node, at, int(end, 16) - int(start, 16))
        else:
            kind = library(path)
            if kind is None:
                return None
            what = kind.what
            version = kind.version or self._versions.of(pid, path, int(inode))
        return Mapping(
            start=int(start, 16),
            end=int(end, 16),
            perms=perms.decode(),
            offset=at,
            path=path.encode("utf-8", "replace").decode(),
            what=what,
            device=node,
            channel=channel,
            inode=int(inode),
            version=version,
            context=context,
        )

    def users(self) -> tuple[list[int], int]:
        """Processes that map a GPU (its own device apart), and how many could not be looked into."""
        found, unreadable = [], 0
        for pid in all_pids(self._proc):
            try:
                if any(mapping.device and mapping.what != WHOLE for mapping in self.read(pid)):
                    found.append(pid)
            except GoneError:
                continue
            except UnreadableError:
                unreadable += 1
        return found, unreadable


class MapsCollector:
    """Tells of the mappings of the processes that ``pids`` names, when they change."""

    name = "maps"

    def __init__(
        self, pids: Callable[[], Iterable[int]], proc: Path = Path("/proc"), period: float = 1.0
    ) -> None:
        self.period = period
        self._pids = pids
        self._proc = proc
        self._maps = Maps(proc)
        self._told: dict[int, Mappings] = {}

    def probe(self) -> Capability:
        """Ready where /proc is mounted."""
        ready = (self._proc / "self").exists()
        return Capability(
            self.name, ready, "" if ready else "no /proc", "mount -t proc proc /proc" * (not ready)
        )

    def sample(self) -> list[Event]:
        """A Mappings event for each process in which something changed."""
        events: list[Event] = []
        pids = list(self._pids())
        self._told = {pid: self._told[pid] for pid in pids if pid in self._told}
        for pid in pids:
            event = self.of(pid)
            last = self._told.get(pid)
            if last is None or (last.mappings, last.missing) != (event.mappings, event.missing):
                self._told[pid] = event
                events.append(event)
        return events

    def of(self, pid: int) -> Mappings:
        """The mappings of one process; what can't be read is in the event."""
        try:
            found, missing = self._maps.read(pid), ""
        except UnreadableError as error:
            found, missing = (), str(error)
        return Mappings(time.monotonic_ns(), Source.POLL, pid, found, missing)
