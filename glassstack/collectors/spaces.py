"""The mmap space of a context as a process has it: read by offset, whatever way in is open.

Owns the grouping of mappings into contexts and the choice between memory and
the device's file. The offsets are the UAPI's.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from glassstack.collectors.maps import WHOLE, Maps
from glassstack.collectors.memory import DeviceFile, GoneError, Memory, UnreadableError
from glassstack.model.entities import Mapping

_FRESH_S = 0.05
_SHARE = 20
"""A look at a process with very many mappings is kept for so many times what it took."""

Identity = tuple[str, int, int]
"""Of a context, on this machine."""
ContextId = Callable[[str, int], int]
"""(node, inode of the context's file) → the driver's id of the context, 0 = not known."""


class Space:
    """One context: everything that a process has mapped of one open file.

    Attributes:
        context: the driver's id where known, else the inode of the file.
        identity: the same in every process that shares the context, where that can be told.
    """

    def __init__(
        self, pid: int, mappings: tuple[Mapping, ...], context: int = 0, proc: Path = Path("/proc")
    ) -> None:
        first = mappings[0]
        self.pid = pid
        self.device = first.device
        self.inode = first.inode
        self.context = first.context or context or first.inode
        self.mappings = mappings
        self._memory = Memory(pid, proc)
        embedded = first.path.startswith("/memfd:")
        self._file = DeviceFile(pid, first.inode, proc) if embedded else None
        # An embedded context has a file of its own; those of a real node share the node's, and where
        # its driver does not tell them apart, a process is taken to have its own.
        told = embedded or first.context > 0
        self.identity: Identity = (first.device, first.inode, first.context if told else -pid)

    def mapped(self, offset: int) -> Mapping | None:
        """The mapping that has this offset."""
        return next((m for m in self.mappings if m.offset <= offset < m.offset + m.size), None)

    def rings(self) -> dict[int, Mapping]:
        """The mapping of each channel's ring, from its start."""
        starts = [m for m in self.mappings if m.channel is not None and m.offset % (1 << 20) == 0]
        return {m.channel: m for m in starts if m.channel is not None}

    def read(self, offset: int, size: int) -> bytes:
        """A range of the space that the process has mapped.

        Raises:
            UnreadableError: with the reason; GoneError when the process has ended.
        """
        mapping = self.mapped(offset)
        if mapping is None or offset + size > mapping.offset + mapping.size:
            raise UnreadableError("the process has not mapped it")
        try:
            return self._memory.read(mapping.start + offset - mapping.offset, size)
        except GoneError:
            raise
        except UnreadableError as error:
            if self._file is None:
                raise
            try:
                return self._file.read(offset, size)
            except GoneError:
                raise
            except UnreadableError as other:
                raise UnreadableError(f"{error}; {other}") from other


def group(pid: int, mappings: Iterable[Mapping], id_of: ContextId, proc: Path = Path("/proc")) -> list[Space]:
    """The contexts among the mappings of a process."""
    found: dict[Identity, list[Mapping]] = {}
    for mapping in mappings:
        if mapping.device and mapping.what != WHOLE:
            found.setdefault((mapping.device, mapping.inode, mapping.context), []).append(mapping)
    return [
        Space(pid, tuple(some), context or id_of(device, inode), proc)
        for (device, inode, context), some in found.items()
    ]


class Spaces:
    """Finds the contexts of processes; pollers that look at the same moment share one look.

    Args:
        id_of: asked for each context, so that it bears the name that the driver gave it.
    """

    def __init__(self, proc: Path = Path("/proc"), id_of: ContextId = lambda device, inode: 0) -> None:
        self._proc = proc
        self._maps = Maps(proc)
        self._id_of = id_of
        self._seen: dict[int, tuple[float, list[Space]]] = {}
        """Until when a look holds, and what was seen."""

    def of(self, pid: int) -> list[Space]:
        """The contexts that a process has mapped.

        Raises:
            UnreadableError: with the reason; GoneError when the process has ended.
        """
        now = time.monotonic()
        until, spaces = self._seen.get(pid, (-1.0, []))
        if now > until:
            self.forget(pid)
            spaces = group(pid, self._maps.read(pid), self._id_of, self._proc)
            took = time.monotonic() - now
            self._seen[pid] = (now + max(_FRESH_S, _SHARE * took), spaces)
        return spaces

    def forget(self, pid: int) -> None:
        """Looks anew the next time: what was seen of it does not hold any more."""
        self._seen.pop(pid, None)

    def keep(self, pids: Iterable[int]) -> None:
        """Forgets every other process."""
        self._seen = {pid: self._seen[pid] for pid in pids if pid in self._seen}
