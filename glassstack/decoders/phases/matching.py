"""What a phase is, and how events are sorted into phases. Pure; knows no driver and no kind of run.

A rule names what an event must have: its kind, its name, its device, fields.
The first phase with a rule that fits takes the event.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from glassstack.model.events import Event, Step, Syscall

Where = str | tuple[int, int]
"""Of a field: a regular expression for its text, or a range of its number (the end not in it)."""


class Rule(NamedTuple):
    """What an event must have. ``names`` and ``device`` are regular expressions for the whole text.

    ``kind`` is an event's tag ("syscall", "process", "log", …). ``where``
    asks for fields of a call, or for members of any other event. ``lacks``
    are fields that must not be there.
    """

    names: str = ".*"
    device: str = ".*"
    where: Mapping[str, Where] = {}
    kind: str = "syscall"
    lacks: tuple[str, ...] = ()

    def fits(self, event: Event) -> bool:
        """Whether the event has it all."""
        if event.__struct_config__.tag != self.kind:
            return False
        values = event.fields if isinstance(event, Syscall) else msgspec.structs.asdict(event)
        if not _full(self.names, name_of(event)) or not _full(self.device, str(getattr(event, "device", ""))):
            return False
        if any(name in values for name in self.lacks):
            return False
        return all(name in values and _holds(wanted, values[name]) for name, wanted in self.where.items())


def _full(pattern: str, text: str) -> bool:
    return pattern == ".*" or re.fullmatch(pattern, text) is not None


def _holds(wanted: Where, value: object) -> bool:
    if isinstance(wanted, str):
        return _full(wanted, str(value))
    return isinstance(value, int) and wanted[0] <= value < wanted[1]


def name_of(event: Event) -> str:
    """What an event is called: the decoded call, or what it tells."""
    if isinstance(event, Step):
        return event.name
    if isinstance(event, Syscall):
        # A call that was named by its number alone is still that call.
        return event.name.removesuffix("?") if not event.device else event.name
    return str(getattr(event, "what", "") or getattr(event, "action", "") or event.__struct_config__.tag)


class Phase(NamedTuple):
    """A part of a run; ``text`` says in plain words what happens."""

    key: str
    title: str
    text: str
    rules: tuple[Rule, ...]


class Table(NamedTuple):
    """The phases of a kind of run, in their order.

    ``silent`` is the phase in which a run may work without a call; it lies
    between ``silent_from`` and ``silent_to``. "" where there is none.
    ``also`` are calls that its rules want though they concern no device.
    """

    title: str
    phases: tuple[Phase, ...]
    silent: str = ""
    silent_from: str = ""
    silent_to: str = ""
    also: frozenset[str] = frozenset()

    def of(self, event: Event) -> Phase | None:
        """The phase that an event belongs to."""
        return next((phase for phase in self.phases if any(rule.fits(event) for rule in phase.rules)), None)


@dataclass
class Tally:
    """What one run did in one phase. ``total_ns`` is the time in calls whose duration is known."""

    events: int = 0
    failed: int = 0
    total_ns: int = 0
    first_ts: int | None = None
    names: dict[str, int] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Counts an event."""
        self.events += 1
        name = name_of(event)
        if isinstance(event, Step):
            self.failed += event.errno is not None
            self.total_ns += event.dur_ns
        if isinstance(event, Syscall):
            self.failed += event.failure is not None
            self.total_ns += event.dur_ns or 0
            detail = event.fields.get("class") or event.fields.get("cmd")
            name = f"{name} {detail}" if detail else name
        if self.first_ts is None:
            self.first_ts = event.ts
        if name in self.names or len(self.names) < 200:
            self.names[name] = self.names.get(name, 0) + 1


class Walk:
    """A run sorted into the phases of a table.

    Attributes:
        tallies: by key of the phase; a phase that did not occur has none.
        other: what fits no phase.
        silence_ns: the longest time without a call between set-up and end, 0 where none was seen.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.tallies: dict[str, Tally] = {}
        self.other = Tally()
        self.silence_ns = 0
        self._last_end = 0
        self._ready = False

    def add(self, events: Iterable[Event]) -> None:
        """Takes events in order of time."""
        for event in events:
            phase = self.table.of(event)
            if phase is not None:
                self.tallies.setdefault(phase.key, Tally()).add(event)
                self._listen(phase, event)
            elif isinstance(event, Syscall) and event.syscall not in self.table.also:
                self.other.add(event)

    def _listen(self, phase: Phase, event: Event) -> None:
        if self._ready and isinstance(event, Syscall):
            self.silence_ns = max(self.silence_ns, event.ts - self._last_end)
        if isinstance(event, Syscall):
            self._last_end = max(self._last_end, event.end)
        if phase.key in (self.table.silent_from, self.table.silent_to):
            self._ready = phase.key == self.table.silent_from
