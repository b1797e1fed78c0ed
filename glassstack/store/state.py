"""What the reducer changes. Nobody else touches it; front ends see snapshots."""

from collections import deque
from dataclasses import dataclass, field

from glassstack.model.entities import (
    Capability,
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
from glassstack.model.values import Source
from glassstack.store.calllog import CallLog
from glassstack.store.series import Series
from glassstack.store.snapshot import CgroupView, Tracked

ChannelKey = tuple[int, str, int, int]
"""(pid, device, context, channel): the same channel, whoever saw it. A context belongs to who opened it."""

COMPLETIONS = 4096
LOG_LINES = 1000
OUTPUT_CHUNKS = 1000
PROCESS_EVENTS = 1000
UEVENTS = 200
LAUNCHES = 1000
STEPS = 2000


@dataclass
class State:
    """All that is known. Every collection is bounded."""

    revision: int = 0
    ts: int = 0
    started: int = 0
    calls: CallLog = field(default_factory=CallLog)
    counts: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    ioctls: Series = field(default_factory=Series)
    doorbells: Series = field(default_factory=Series)
    jobs: Series = field(default_factory=Series)
    errors: Series = field(default_factory=Series)
    in_flight: dict[Source, tuple[InFlight, ...]] = field(default_factory=dict)
    tallies: dict[int, Tallies] = field(default_factory=dict)
    functions: dict[tuple[str, str], Series] = field(default_factory=dict)
    """Calls of functions, by library and kind."""
    launches: dict[tuple[int, int, int], tuple[int, Launch]] = field(default_factory=dict)
    """By process, thread and time."""
    launches_sample: str = ""
    tracked: dict[int, Tracked] = field(default_factory=dict)
    process_events: deque[Process] = field(default_factory=lambda: deque(maxlen=PROCESS_EVENTS))
    mappings: dict[int, tuple[Mapping, ...]] = field(default_factory=dict)
    mappings_missing: dict[int, str] = field(default_factory=dict)
    channels: dict[ChannelKey, Channel] = field(default_factory=dict)
    channels_missing: dict[int, str] = field(default_factory=dict)
    rings: dict[ChannelKey, Ring] = field(default_factory=dict)
    completions: deque[tuple[int, str, Completion]] = field(default_factory=lambda: deque(maxlen=COMPLETIONS))
    completions_lost: int = 0
    completions_seen: int = 0
    log: deque[Log] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    cgroups: dict[int, CgroupView] = field(default_factory=dict)
    holders: tuple[Holder, ...] | None = None
    holders_unreadable: int = 0
    processes: tuple[ProcessInfo, ...] | None = None
    devices: tuple[Device, ...] = ()
    devices_missing: str = ""
    nodes: tuple[DeviceNode, ...] = ()
    uevents: deque[Uevent] = field(default_factory=lambda: deque(maxlen=UEVENTS))
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=STEPS))
    host: World | None = None
    containers: tuple[Container, ...] | None = None
    output: deque[Output] = field(default_factory=lambda: deque(maxlen=OUTPUT_CHUNKS))
    capabilities: tuple[Capability, ...] = ()
    dropped: dict[tuple[Source, str], Dropped] = field(default_factory=dict)
    failed: dict[str, Failed] = field(default_factory=dict)
