"""The one union of events. Every event has ``ts`` (CLOCK_MONOTONIC ns) and ``source``.

Collectors emit them, the reducer consumes them, recordings hold them. The
JSON form (``kind`` first) is the public schema, versioned by SCHEMA_VERSION;
fields are only ever added.
"""

import msgspec

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
    Packet,
    ProcessInfo,
    Tally,
    World,
)
from glassstack.model.values import Scalar, Source

SCHEMA_VERSION = 1


class _Event(msgspec.Struct, frozen=True, tag_field="kind", gc=False):
    ts: int
    source: Source


class Syscall(_Event, frozen=True, tag="syscall", gc=False):
    """A finished call on a device: open, ioctl, mmap, munmap, close, dup, …

    ``name`` is the decoded ioctl ("ALLOC") or the syscall itself. ``ret`` is
    the raw return (negative on error, with ``errno`` its name); ``device`` is
    the node or "" where the call is not on a device. ``raw`` is the ioctl
    number. ``ts`` is the entry, ``dur_ns`` the time to the return; where only
    the return was seen, ``ts`` is that and ``dur_ns`` is ``None``: not known.
    ``cgroup`` is the id of the cgroup v2 (0: not known). ``stack`` are the
    functions that led to the call, innermost first, where that was asked for.
    """

    pid: int
    tid: int
    syscall: str
    device: str
    name: str
    fields: dict[str, Scalar]
    ret: int
    errno: str | None
    dur_ns: int | None
    fd: int | None = None
    raw: int | None = None
    cgroup: int = 0
    stack: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """When it returned."""
        return self.ts + (self.dur_ns or 0)

    @property
    def failure(self) -> str | None:
        """What it failed with: the errno, or the status in its answer where ioctl(2) says 0 all the same."""
        if self.errno is not None:
            return self.errno
        status = self.fields.get("nv_status")
        if status is None or status == "OK" or str(status).startswith(("WARN_", "missing")):
            return None
        return str(status)


class Process(_Event, frozen=True, tag="process", gc=False):
    """Birth, exec, end or (de)attachment of a process or thread.

    ``what``: "start" (launched or attached), "fork", "thread", "exec", "exit", "detach".
    ``status`` is the exit status, ``signal`` the name of what killed it.
    """

    pid: int
    tid: int
    what: str
    ppid: int = 0
    command: str = ""
    status: int | None = None
    signal: str | None = None


class Calls(_Event, frozen=True, tag="calls", gc=False):
    """All calls that are in flight now; replaces the last one of this source."""

    calls: tuple[InFlight, ...]


class Tallies(_Event, frozen=True, tag="tallies", gc=False):
    """Calls and functions of a process that were only counted; replaces the last one of this pid and source.

    They count from ``since`` on. ``functions`` says why functions are not
    counted, "" where they are. ``cost_ns`` is what a counted call of a function
    costs its program, measured where this runs; 0: not known.
    """

    pid: int
    since: int
    tallies: tuple[Tally, ...]
    command: str = ""
    functions: str = ""
    cost_ns: int = 0


class Launches(_Event, frozen=True, tag="launches", gc=False):
    """Launches of a process that were followed to their fence, or as far as they went.

    Only some of all: ``sample`` says which. Tallies count every one.
    """

    pid: int
    launches: tuple[Launch, ...]
    sample: str = ""


class Mappings(_Event, frozen=True, tag="mappings", gc=False):
    """The device and library mappings of a process; ``missing`` says why there are none."""

    pid: int
    mappings: tuple[Mapping, ...]
    missing: str = ""


class Channels(_Event, frozen=True, tag="channels", gc=False):
    """Doorbell and fence slots of a process; replaces the last ones of this pid and source."""

    pid: int
    channels: tuple[Channel, ...]
    missing: str = ""


class Ring(_Event, frozen=True, tag="ring", gc=False):
    """A command ring read from outside; ``packets`` around wptr and rptr, oldest first."""

    pid: int
    device: str
    context: int
    channel: int
    size: int
    wptr: int
    rptr: int
    packets: tuple[Packet, ...]


class Completions(_Event, frozen=True, tag="completions", gc=False):
    """New entries of a completion ring since the last look; ``lost`` were overwritten before it."""

    pid: int
    device: str
    context: int
    entries: tuple[Completion, ...]
    written: int
    lost: int = 0


class Log(_Event, frozen=True, tag="log", gc=False):
    """A kernel-log line (of the embedded device: its stand-in). ``xid`` when it carries one."""

    level: int
    text: str
    xid: int | None = None
    pid: int | None = None
    device: str = ""


class Cgroups(_Event, frozen=True, tag="cgroups", gc=False):
    """The cgroups of a process from the root down, and its children; ``missing`` says why none.

    ``partial`` says what is not in the tree though it counts, such as
    ancestors above the root of a cgroup namespace.
    """

    pid: int
    own: str
    tree: tuple[Cgroup, ...]
    missing: str = ""
    partial: str = ""


class Holders(_Event, frozen=True, tag="holders", gc=False):
    """Everybody who holds a device; ``unreadable`` counts processes that could not be looked into."""

    holders: tuple[Holder, ...]
    unreadable: int = 0


class Processes(_Event, frozen=True, tag="processes", gc=False):
    """The process list."""

    processes: tuple[ProcessInfo, ...]


class Devices(_Event, frozen=True, tag="devices", gc=False):
    """The devices and their state."""

    devices: tuple[Device, ...]
    missing: str = ""


class Nodes(_Event, frozen=True, tag="nodes", gc=False):
    """The GPU nodes in /dev; told when they changed."""

    nodes: tuple[DeviceNode, ...]


class Uevent(_Event, frozen=True, tag="uevent", gc=False):
    """The kernel tells of a device: "add", "remove", "change", …

    ``via`` is "kernel", or "udev" where that has seen it first. ``device`` is
    the node or "". ``properties`` are what the driver added.
    """

    action: str
    devpath: str
    subsystem: str
    device: str
    seqnum: int
    via: str
    properties: dict[str, str] = {}


class Step(_Event, frozen=True, tag="step", gc=False):
    """A step of a container's start or end, as the runtime tells it. ``name`` is "clone", "mount", …"""

    container: str
    pid: int
    name: str
    detail: dict[str, Scalar]
    errno: str | None
    dur_ns: int


class Containers(_Event, frozen=True, tag="containers", gc=False):
    """The containers there are, and the world of the host beside them."""

    host: World
    containers: tuple[Container, ...]
    missing: str = ""


class Output(_Event, frozen=True, tag="output", gc=False):
    """What a launched program wrote; ``stream`` is "stdout" or "stderr"."""

    pid: int
    stream: str
    text: str


class Capabilities(_Event, frozen=True, tag="capabilities", gc=False):
    """What can be seen on this machine."""

    capabilities: tuple[Capability, ...]


class Dropped(_Event, frozen=True, tag="dropped", gc=False):
    """``count`` events were lost at ``where`` since the last such marker."""

    where: str
    count: int


class Failed(_Event, frozen=True, tag="failed", gc=False):
    """A collector could not go on: one-line cause and what to do."""

    collector: str
    cause: str
    remedy: str = ""


Event = (
    Syscall
    | Process
    | Calls
    | Tallies
    | Launches
    | Mappings
    | Channels
    | Ring
    | Completions
    | Log
    | Cgroups
    | Holders
    | Processes
    | Devices
    | Nodes
    | Uevent
    | Step
    | Containers
    | Output
    | Capabilities
    | Dropped
    | Failed
)
