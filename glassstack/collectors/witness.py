"""The embedded device as a witness: reads what it answered and did from a ring in shared memory.

Owns the memory file, the reader's side of the ring, and turning records into
events. Never waits for the device and never makes it wait.
"""

import errno
import fcntl
import mmap
import os
import threading
import time

from glassstack.collectors.witness_records import Records
from glassstack.decoders import witness as abi
from glassstack.model.entities import Capability
from glassstack.model.events import Dropped, Event, Failed, Syscall
from glassstack.model.values import Source

SIZE = 64 << 20
"""Bytes of the data area: half a million calls; pages that were never written cost nothing."""
NAME = "glassstack-witness"
"""Of the memory file."""
_CHUNK = 256 << 10
_HEAD, _TAIL, _DROPPED = abi.HEAD_HEAD // 8, abi.HEAD_TAIL // 8, abi.HEAD_DROPPED // 8


def _end(event: Event) -> int:
    return event.end if isinstance(event, Syscall) else event.ts


class Witness:
    """Makes the ring and reads it; one reader, from one thread at a time.

    Args:
        size: bytes of the data area, a power of two, at least a page.

    Attributes:
        fd: the memory file, inheritable: hand its number to the device.

    Raises:
        OSError: no memory file could be made.
    """

    name = "witness"

    def __init__(self, size: int = SIZE, machine: str = os.uname().machine) -> None:
        if size < mmap.PAGESIZE or size & (size - 1):
            raise ValueError(f"the size of a ring must be a power of two of at least a page, not {size}")
        self._open(os.memfd_create(NAME, 0), size, machine)
        self._words[abi.HEAD_DATA_SIZE // 8] = size
        self._words[abi.HEAD_VERSION // 8] = abi.VERSION
        self._words[abi.HEAD_MAGIC // 8] = abi.MAGIC

    @classmethod
    def adopt(cls, fd: int, machine: str = os.uname().machine) -> "Witness":
        """Reads a ring that somebody else made; takes over ``fd``. What was read before is told again.

        Raises:
            OSError: it is no such ring, or somebody else reads it (BlockingIOError).
        """
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size = os.fstat(fd).st_size - abi.DATA
            if size < mmap.PAGESIZE or size & (size - 1):
                raise OSError(errno.EINVAL, "no witness ring")
        except OSError:
            os.close(fd)
            raise
        witness = cls.__new__(cls)
        witness._open(fd, size, machine)
        if witness._words[_HEAD] <= size:  # nothing was overwritten: the account begins at its start
            witness._words[_TAIL] = 0
        return witness

    def _open(self, fd: int, size: int, machine: str) -> None:
        self.fd, self._size = fd, size
        try:
            os.ftruncate(fd, abi.DATA + size)
            self._map = mmap.mmap(fd, abi.DATA + size)
        except OSError:
            os.close(fd)
            raise
        # Whole words, loaded and stored at once: the other side reads them at any moment.
        self._words = memoryview(self._map).cast("Q")
        self._barrier = threading.Lock()
        self._records = Records(machine)
        self._dropped = 0
        self._broken = False

    def probe(self) -> Capability:
        """Always ready: the ring exists."""
        return Capability(self.name, True, "the embedded device tells of the calls it answers")

    @property
    def waiting(self) -> int:
        """Bytes written and not read yet."""
        return self._words[_HEAD] - self._words[_TAIL]

    def read(self, max_records: int = 20_000) -> list[Event]:
        """What has come since the last look, in the order in which it was over.

        So the calls of one thread are in their order. At most ``max_records``
        records are taken; the rest stays for the next look.
        """
        events: list[Event] = []
        while max_records > 0 and not self._broken:
            taken, consumed = self._take(max_records, events)
            if not consumed:
                break
            max_records -= taken
        events += self._records.progress()
        # A call is written down after its answer was given: the thread's next one may come first.
        events.sort(key=_end)
        self._note_drops(events)
        return events

    def _take(self, max_records: int, events: list[Event]) -> tuple[int, int]:
        """Reads one contiguous piece; gives the records taken and the bytes given back."""
        head, tail = self._words[_HEAD], self._words[_TAIL]
        if head == tail:
            return 0, 0
        with self._barrier:  # what head covers must be loaded after head, and before tail is stored
            at = tail % self._size
            room = min(head - tail, self._size - at, _CHUNK)
            piece = self._map[abi.DATA + at : abi.DATA + at + room]
            taken, consumed = self._records.parse(piece, max_records, events)
        if not consumed or head - tail > self._size:
            self._broken = True
            events.append(_torn(f"a record at {tail} of {head} can't be one"))
            return taken, 0
        self._words[_TAIL] = tail + consumed
        return taken, consumed

    def _note_drops(self, events: list[Event]) -> None:
        dropped = self._words[_DROPPED]
        if dropped != self._dropped:
            now = time.monotonic_ns()
            where = "witness ring: the reader is slower than the device"
            events.append(Dropped(now, Source.DEVICE, where, dropped - self._dropped))
            self._dropped = dropped

    def close(self) -> None:
        """Lets go of the memory. Idempotent; the device may go on writing into its own mapping."""
        if self.fd >= 0:
            self._words.release()
            self._map.close()
            os.close(self.fd)
            self.fd = -1


def _torn(cause: str) -> Failed:
    return Failed(time.monotonic_ns(), Source.SELF, "witness", cause, "start the device again")
