"""The frozen picture that front ends draw. Made by the store, never changed."""

from dataclasses import dataclass, field

from glassstack.model.entities import (
    Capability,
    Cgroup,
    Channel,
    Completion,
    Container,
    Device,
    DeviceNode,
    Holder,
    InFlight,
    Launch,
    Mapping,
    ProcessInfo,
    World,
)
from glassstack.model.events import Dropped, Failed, Log, Output, Process, Ring, Step, Tallies, Uevent
from glassstack.store.calllog import CallLog

SECONDS = 60
"""How far the rate series reach back."""


@dataclass(frozen=True)
class Rates:
    """Per-second counts of the last SECONDS whole seconds, oldest first, newest last.

    ``ioctls`` are calls seen, ``doorbells`` and ``jobs`` progress of the
    channels, ``errors`` calls that failed, ``functions`` calls of functions
    by (library, kind).
    """

    ioctls: tuple[int, ...] = ()
    doorbells: tuple[int, ...] = ()
    jobs: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()
    functions: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Tracked:
    """A traced process: alive until it has ``ended`` (status or signal as text)."""

    pid: int
    ppid: int
    command: str
    threads: tuple[int, ...]
    ended: str = ""


@dataclass(frozen=True)
class CgroupView:
    """The cgroups of one process, root first; ``missing`` and ``partial`` as in the Cgroups event."""

    own: str
    tree: tuple[Cgroup, ...]
    missing: str = ""
    partial: str = ""


@dataclass(frozen=True)
class LatencySummary:
    """Percentiles in ns over the newest completions (at most 4,096)."""

    count: int
    p50: int
    p99: int
    max: int


@dataclass(frozen=True)
class Snapshot:
    """Everything known at ``ts`` (CLOCK_MONOTONIC ns of the newest event).

    ``revision`` rises with every change. ``calls`` is shared with the store
    and goes on growing: a drawing uses numbers up to ``calls_end`` only.
    """

    revision: int = 0
    ts: int = 0
    started: int = 0
    calls: CallLog = field(default_factory=CallLog)
    calls_end: int = 0
    counts: dict[str, int] = field(default_factory=dict)  # by call name
    failures: dict[str, int] = field(default_factory=dict)  # failed calls, by call name
    rates: Rates = Rates()
    in_flight: tuple[InFlight, ...] = ()
    tallies: tuple[Tallies, ...] = ()  # what was only counted, by process
    launches: tuple[tuple[int, Launch], ...] = ()  # (pid, launch) followed, newest last
    launches_sample: str = ""  # which of all were followed
    tracked: tuple[Tracked, ...] = ()
    process_events: tuple[Process, ...] = ()  # newest last, bounded
    mappings: dict[int, tuple[Mapping, ...]] = field(default_factory=dict)
    mappings_missing: dict[int, str] = field(default_factory=dict)
    channels: tuple[Channel, ...] = ()
    channels_missing: dict[int, str] = field(default_factory=dict)
    rings: tuple[Ring, ...] = ()
    completions: tuple[tuple[int, str, Completion], ...] = ()  # (pid, device, entry), newest last
    completions_lost: int = 0
    queue_latency: LatencySummary | None = None  # queued → start
    run_latency: LatencySummary | None = None  # start → done
    log: tuple[Log, ...] = ()  # newest last, bounded
    cgroups: dict[int, CgroupView] = field(default_factory=dict)
    holders: tuple[Holder, ...] | None = None
    holders_unreadable: int = 0
    processes: tuple[ProcessInfo, ...] | None = None
    devices: tuple[Device, ...] = ()
    devices_missing: str = ""
    nodes: tuple[DeviceNode, ...] = ()
    uevents: tuple[Uevent, ...] = ()  # newest last, bounded
    steps: tuple[Step, ...] = ()  # of container starts, newest last, bounded
    host: World | None = None
    containers: tuple[Container, ...] | None = None
    output: tuple[Output, ...] = ()  # newest last, bounded
    capabilities: tuple[Capability, ...] = ()
    dropped: tuple[Dropped, ...] = ()  # summed by place
    failed: tuple[Failed, ...] = ()
