"""Ended jobs, read from the completion ring that the device writes and nobody has to empty.

Owns the reader's place in each ring, and the count of entries that were
written over before they could be read.
"""

import time
from collections.abc import Callable, Iterable

from glassstack.collectors.memory import UnreadableError
from glassstack.collectors.spaces import Identity, Space, Spaces
from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders.pages import HEAD_SIZE, CompletionHead, decode_completion, decode_completion_head
from glassstack.model.entities import Capability, Completion
from glassstack.model.events import Completions, Event
from glassstack.model.values import Source


class CompletionPoller:
    """Tells of jobs that ended since the last look, for the processes that ``pids`` names.

    The first look at a ring takes what it still holds and counts nothing as lost.
    """

    name = "completions"

    def __init__(
        self, pids: Callable[[], Iterable[int]], spaces: Spaces | None = None, period: float = 0.25
    ) -> None:
        self.period = period
        self._pids = pids
        self._spaces = spaces or Spaces()
        self._read: dict[Identity, int] = {}
        """Entries read of each context's ring."""

    def probe(self) -> Capability:
        """Ready always; a process that can't be read is told of by the channels."""
        return Capability(self.name, True, "processes that map their completion ring")

    def sample(self) -> list[Event]:
        """A Completions event for each ring with new entries."""
        events: list[Event] = []
        alive: set[Identity] = set()
        for pid in sorted(self._pids()):
            try:
                for space in self._spaces.of(pid):
                    if space.identity not in alive and space.mapped(uapi.OFF_COMPLETION):
                        alive.add(space.identity)
                        events += self._of(space)
            except UnreadableError:
                continue  # said by the channels of the same process
        self._read = {key: read for key, read in self._read.items() if key in alive}
        return events

    def _of(self, space: Space) -> list[Event]:
        head, key = _head(space), space.identity
        if not head.valid:
            return []
        last = self._read.get(key)
        first = max(0, head.written - head.entries) if last is None else last
        if head.written == first or head.written < first:
            self._read[key] = head.written
            return []
        entries, lost = read_entries(space, head, first)
        self._read[key] = head.written
        return [
            Completions(
                time.monotonic_ns(),
                Source.POLL,
                space.pid,
                space.device,
                space.context,
                tuple(entries),
                head.written,
                0 if last is None else lost,
            )
        ]


def _head(space: Space) -> CompletionHead:
    head = decode_completion_head(space.read(uapi.OFF_COMPLETION, HEAD_SIZE))
    return head or CompletionHead(0, 0, 0)


def read_entries(space: Space, head: CompletionHead, first: int) -> tuple[list[Completion], int]:
    """Entries ``first`` to ``head.written``, and how many of them are lost.

    Raises:
        UnreadableError: with the reason; GoneError when the process has ended.
    """
    size = head.entry_size
    data = space.read(uapi.OFF_COMPLETION + HEAD_SIZE, head.entries * size)
    # Whatever the device wrote while we read, it wrote over the oldest; one more may be half done.
    safe = _head(space).written - head.entries + 1
    start = min(max(first, safe, 0), head.written)
    slots = (number % head.entries * size for number in range(start, head.written))
    found = (decode_completion(data[slot : slot + size]) for slot in slots)
    return [entry for entry in found if entry is not None], start - first
