"""Things that exist for a while: mappings, channels, cgroups, holders, processes, devices.

They appear inside sample events and, unchanged, inside snapshots.
"""

import msgspec

from glassstack.model.values import Missing, Scalar


class Mapping(msgspec.Struct, frozen=True):
    """One line of /proc/PID/maps that belongs to a device or to the GPU libraries.

    ``what`` is "doorbell", "fence", "completion", "ring", "buffer" for device
    memory, "umd", "runtime" or "management" for a library; ``device`` is the
    node ("/dev/fakegpu0") or "" for libraries. ``channel`` is set for a ring,
    ``context`` is the driver's id of whose it is where the line tells, else 0.
    """

    start: int
    end: int
    perms: str
    offset: int
    path: str
    what: str
    device: str = ""
    channel: int | None = None
    inode: int = 0
    version: str = ""
    context: int = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start


class Packet(msgspec.Struct, frozen=True):
    """A decoded packet at ``position`` bytes into its ring; ``state`` is "done" or "pending"."""

    position: int
    name: str
    size: int
    fields: dict[str, Scalar] = {}
    state: str = "pending"


class Channel(msgspec.Struct, frozen=True):
    """Progress of one channel, as its doorbell and fence slots say.

    ``wptr`` and ``rptr`` are bytes since birth modulo 2**32, ``done_ns`` is
    CLOCK_MONOTONIC, ``ring_size`` is 0 where there is no ring.
    """

    pid: int
    device: str
    context: int
    index: int
    wptr: int
    rptr: int
    seqno: int
    doorbells: int
    jobs: int
    done_ns: int = 0
    error: int = 0
    ring_size: int = 0


class Completion(msgspec.Struct, frozen=True):
    """One ended job; times are CLOCK_MONOTONIC nanoseconds, ``status`` 0 or an Xid."""

    seqno: int
    channel: int
    queued_ns: int
    start_ns: int
    done_ns: int
    status: int
    bytes: int


class Limit(msgspec.Struct, frozen=True):
    """A cgroup limit: own value, and the one that counts with the ancestor that sets it.

    Values are bytes (memory), a number of CPUs (cpu.max: quota / period) or
    a count (pids); ``None`` = no limit.
    """

    name: str  # "memory.max", "memory.high", "memory.swap.max", "pids.max", "cpu.max"; v1: "memory.memsw.max"
    own: int | float | Missing | None
    effective: int | float | Missing | None
    set_by: str = ""  # cgroup path of the ancestor that sets the effective value


class Cgroup(msgspec.Struct, frozen=True):
    """One cgroup directory. ``usage`` has "memory.current", "pids.current", "cpu.usage_usec".

    ``events`` count what happened here and below, ``local`` here alone.
    ``pressure`` is the share of the last 10 s, in per cent, in which some task
    waited for "memory.some", "cpu.some" or "io.some".

    ``relation`` to the process: "ancestor", "own" or "child". On cgroup v1
    every hierarchy has a chain of its own, told apart by ``controllers``.
    """

    path: str
    version: int  # 1 or 2
    controllers: tuple[str, ...]
    limits: tuple[Limit, ...]
    usage: dict[str, int | Missing] = {}
    events: dict[str, int] = {}  # memory.events and the like
    pids: tuple[int, ...] = ()
    relation: str = ""
    local: dict[str, int] = {}
    pressure: dict[str, float] = {}


class Holder(msgspec.Struct, frozen=True):
    """Why a device or module is in use: an open descriptor or a live mapping of a process, or a module.

    Of how="module" ``device`` is "module NAME", ``command`` the module that
    needs it, and ``pid`` 0.
    """

    pid: int
    command: str
    user: str
    device: str
    how: str  # "fd", "mapping" or "module"; "driver" for the embedded device's own, listed on request only
    detail: str  # "fd 5 rw", "7f…-7f… doorbell"
    cgroup: str = ""
    container: str = ""
    ns_pid: int = 0
    context: int = 0  # the driver's id of what it holds, 0 where /proc does not tell


class ProcessInfo(msgspec.Struct, frozen=True):
    """A process in both PID views. ``ns_pids`` runs from the host's to the innermost."""

    pid: int
    ppid: int
    ns_pids: tuple[int, ...]
    name: str
    command: str
    user: str
    state: str
    threads: int
    rss: int  # bytes
    cpu: float  # per cent of one core
    started: float = 0.0  # seconds since the epoch
    cgroup: str = ""
    container: str = ""
    gpu: str = ""  # device it holds, "" = none


class Context(msgspec.Struct, frozen=True):
    """An open file of a device, as its driver tells of it.

    ``pid`` opened it and is a holder of many, perhaps; memory in bytes; ``xid``
    poisoned it, 0 = it is healthy; ``missing`` says why the counters are not known.
    ``rules`` says who decided that it may be opened: "kernel", or "emulated"
    where the embedded device had to decide by itself.
    """

    id: int
    pid: int
    name: str
    buffers: int = 0
    channels: int = 0
    bytes: int = 0
    quota: int = 0
    submits: int = 0
    completions: int = 0
    doorbells: int = 0
    xid: int = 0
    missing: str = ""
    rules: str = "kernel"


class Device(msgspec.Struct, frozen=True):
    """A device as its driver describes it. ``driver`` is "embedded" or "kernel".

    ``opened`` are its contexts by id, or those of them that could be told.
    """

    path: str
    index: int
    driver: str
    version: str
    name: str = ""
    uuid: str = ""
    pci: str = ""
    vram_total: int = 0
    vram_used: int = 0
    quota: int = 0
    contexts: int = 0
    faults: tuple[str, ...] = ()
    opened: tuple[Context, ...] = ()


class DeviceNode(msgspec.Struct, frozen=True):
    """A node in /dev. ``mode`` are its permission bits, ``owner`` is "user:group", ``kind`` "c" or "b".

    ``sysfs`` is its place below /sys with its ``attributes``; ``missing`` says why there are none.
    """

    path: str
    major: int
    minor: int
    mode: int
    owner: str
    sysfs: str = ""
    attributes: dict[str, str] = {}
    missing: str = ""
    kind: str = "c"


class InFlight(msgspec.Struct, frozen=True):
    """A call that has not returned yet."""

    pid: int
    tid: int
    since: int
    syscall: str
    device: str
    name: str
    fields: dict[str, Scalar] = {}


class Tally(msgspec.Struct, frozen=True):
    """How often a call or a function was made, and how long it took.

    ``library`` is "syscall", "umd" or "runtime"; ``timed`` says of how many
    calls the duration is known, bucket *n* of ``buckets`` counts those that
    took 2ⁿ to 2ⁿ⁺¹ ns. Of a function ``calls`` counts beginnings.
    """

    name: str
    library: str
    calls: int
    errors: int = 0
    timed: int = 0
    total_ns: int = 0
    max_ns: int = 0
    buckets: tuple[int, ...] = ()
    device: str = ""

    def percentile(self, share: float) -> int:
        """The duration in ns that ``share`` (0 to 1) of the timed calls stay below, to a factor of 2."""
        seen = 0
        for power, count in enumerate(self.buckets):
            seen += count
            if count and seen >= share * self.timed:
                return min(2 << power, self.max_ns)
        return self.max_ns


class Launch(msgspec.Struct, frozen=True):
    """One launch followed from the API to its fence; times are CLOCK_MONOTONIC ns, ``None`` = not seen.

    ``via`` is "ring" or "submit", "" where neither could be told; ``wptr`` is
    where the program's pointer stood after it. ``doorbell_ns`` is when the
    device saw it. A launch may join a job that has begun already: then
    ``start_ns`` is before ``called_ns``. ``by`` says who told the device's
    side: "tracepoints" or "completion ring"; ``note`` what is missing and why.
    """

    tid: int
    function: str
    called_ns: int
    returned_ns: int
    via: str = ""
    device: str = ""
    context: int = 0
    channel: int | None = None
    wptr: int | None = None
    seqno: int | None = None
    doorbell_ns: int | None = None
    start_ns: int | None = None
    done_ns: int | None = None
    status: int = 0
    by: str = ""
    note: str = ""


class Capability(msgspec.Struct, frozen=True):
    """What a collector can do here: ready, or why not and what would make it so."""

    name: str
    ready: bool
    why: str = ""
    remedy: str = ""


class DeviceRule(msgspec.Struct, frozen=True):
    """What a device list says: ``access`` out of "rwm" for a device, ``None`` = every number.

    Of several rules the narrowest counts; what no rule names is denied.
    """

    kind: str  # "c" or "b"
    major: int | None
    minor: int | None
    access: str


class DeviceProgram(msgspec.Struct, frozen=True):
    """A program that decides about devices: ``attached`` is the cgroup it is attached to."""

    id: int
    name: str
    tag: str
    attached: str


class DeviceList(msgspec.Struct, frozen=True):
    """What decides about devices in a cgroup: BPF programs (v2), or the ``devices.list`` of cgroup v1.

    ``rules`` are what they allow together, ``None`` where ``missing`` says why
    it is not known. ``programs`` is empty for a list of v1, and where nothing
    decides and everything is allowed.
    """

    cgroup: str
    programs: tuple[DeviceProgram, ...]
    rules: tuple[DeviceRule, ...] | None
    missing: str = ""


class MountPoint(msgspec.Struct, frozen=True):
    """A mount as a process sees it; ``root`` is what of the file system is mounted there."""

    target: str
    type: str
    source: str
    root: str
    options: str


class GpuLibrary(msgspec.Struct, frozen=True):
    """A GPU library on a library path; ``what`` as in Mapping."""

    path: str
    what: str
    version: str


class World(msgspec.Struct, frozen=True):
    """What processes of one set of namespaces see; what could not be read is not in it, but in ``missing``.

    ``processes`` are (pid on the host, pid here, command), ``namespaces`` inode
    numbers by kind, ``uid_map`` the lines of that file, ``capabilities`` the
    bounding set.
    """

    hostname: str
    processes: tuple[tuple[int, int, str], ...]
    namespaces: dict[str, int]
    mounts: tuple[MountPoint, ...]
    nodes: tuple[DeviceNode, ...]
    libraries: tuple[GpuLibrary, ...]
    cgroup: str
    uid_map: str = ""
    capabilities: int = 0
    seccomp: str = ""
    no_new_privs: bool = False
    missing: tuple[str, ...] = ()


class Container(msgspec.Struct, frozen=True):
    """A container: processes in a PID namespace of their own. ``pid`` is its first, on the host.

    ``cgroup`` is the host's name of its cgroup.
    """

    id: str
    runtime: str
    pid: int
    cgroup: str
    world: World
    devices: DeviceList
