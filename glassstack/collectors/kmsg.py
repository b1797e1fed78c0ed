"""The kernel's log, record by record, from /dev/kmsg.

Owns the format of a record and the joining of pieces; what a line means is
the decoders'. Reading takes nothing away from other readers.
"""

import errno
import os
import re
import time
from pathlib import Path
from typing import NamedTuple

from glassstack.collectors.gaps import Gaps
from glassstack.decoders.kmsg import fakegpu_node, parse_xid
from glassstack.model.entities import Capability
from glassstack.model.events import Dropped, Event, Log
from glassstack.model.values import Source

KMSG = Path("/dev/kmsg")
_RECORD_MAX = 8192
"""The kernel gives one record a read, and refuses a buffer that is too small for it."""
_PER_LOOK = 5000
_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")


class Record(NamedTuple):
    """One record: ``level`` as printk's, ``ts`` in ns of the log's clock, which is nearly CLOCK_MONOTONIC.

    ``begins``: its line goes on in the next piece; ``goes_on``: it is such a piece.
    """

    level: int
    seq: int
    ts: int
    text: str
    begins: bool = False
    goes_on: bool = False


def parse_record(data: bytes) -> Record | None:
    """A record as read from the device, ``None`` for what is none.

    The kernel writes control characters as ``\\x0a``: the lines of a message
    that has several come back joined by spaces.
    """
    head, found, rest = data.partition(b";")
    fields = head.split(b",")
    if not found or len(fields) < 4 or not all(field.isdigit() for field in fields[:3]):
        return None
    body = rest.split(b"\n", 1)[0]  # what follows are KEY=value of the device it is about
    raw = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), body)
    text = " ".join(part.strip() for part in raw.decode("utf-8", "replace").splitlines())
    level, seq, usec = (int(field) for field in fields[:3])
    return Record(level & 7, seq, usec * 1000, text, b"c" in fields[3], b"+" in fields[3])


class Joiner:
    """Puts the pieces of a line together that a driver printed in several calls."""

    def __init__(self) -> None:
        self._open: Record | None = None

    def add(self, record: Record) -> list[Record]:
        """What is complete now."""
        if record.goes_on and self._open is not None:
            self._open = self._open._replace(text=self._open.text + record.text)
            return []
        done = self.flush()
        if record.begins:
            self._open = record
            return done
        return [*done, record]

    def flush(self) -> list[Record]:
        """The line under way, taken as it is: nothing more came."""
        done = [self._open] if self._open else []
        self._open = None
        return done


class KmsgCollector:
    """Tells of new lines of the kernel's log.

    Args:
        past: begin with what the log still holds, not with what comes from now on.
    """

    name = "kernel log"

    def __init__(self, path: Path = KMSG, past: bool = False, period: float = 0.5) -> None:
        self.period = period
        self._path = path
        self._past = past
        self._fd = -1
        self._refused = False
        self._gaps = Gaps()
        self._joiner = Joiner()

    def probe(self) -> Capability:
        """Ready where the log may be read."""
        try:
            os.close(os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except PermissionError:
            return Capability(
                self.name, False, f"{self._path} may not be read", "run as root, or with CAP_SYSLOG"
            )
        except OSError as error:
            return Capability(
                self.name, False, f"{self._path}: {error.strerror}", "bind it into the container"
            )
        return Capability(self.name, True, str(self._path))

    def sample(self) -> list[Event]:
        """New lines as Log events, and what was overwritten before it could be read.

        Nothing where the log can't be read: the capability says why.
        """
        if self._fd < 0 and not self._open():
            return []
        records: list[Record] = []
        events: list[Event] = []
        for _ in range(_PER_LOOK):
            record = self._read()
            if record is None:
                records += self._joiner.flush()
                break
            lost = self._gaps.lost(record.seq)
            if lost:
                events.append(Dropped(time.monotonic_ns(), Source.POLL, self.name, lost))
            records += self._joiner.add(record)
        return [*events, *(log_event(record) for record in records)]

    def close(self) -> None:
        """Gives the descriptor back."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def __del__(self) -> None:
        self.close()

    def _open(self) -> bool:
        if self._refused:
            return False
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            if not self._past:
                os.lseek(self._fd, 0, os.SEEK_END)
        except OSError:
            self._refused = True
        return not self._refused

    def _read(self) -> Record | None:
        """The next record; ``None``: there is none yet."""
        while True:
            try:
                data = os.read(self._fd, _RECORD_MAX)
            except BlockingIOError:
                return None
            except OSError as error:
                if error.errno == errno.EPIPE:  # overwritten: the next one's number tells how many
                    continue
                return None
            if not data:
                return None
            record = parse_record(data)
            if record is not None:
                return record


def log_event(record: Record) -> Log:
    """A line of the kernel's as an event, with the Xid that it carries."""
    xid = parse_xid(record.text)
    if xid is None:
        return Log(record.ts, Source.POLL, record.level, record.text)
    node = fakegpu_node(xid.pci) if xid.fake else ""
    return Log(record.ts, Source.POLL, record.level, record.text, xid.xid, xid.pid, node)
