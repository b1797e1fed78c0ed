"""A made-up but consistent minute of a glass stack, as events: what the screen tests draw.

Two programs on one embedded GPU: ``fakegpu-train`` drives a ring and a
doorbell and makes no calls, ``fakegpu-burst`` submits by ioctl. Everything is
a fixed function of the arguments, so that pictures stay the same.
"""

from __future__ import annotations

from glassstack.model import entities as en
from glassstack.model import events as ev
from glassstack.model.events import Event
from glassstack.model.values import Missing, Scalar, Source
from glassstack.store.snapshot import Snapshot
from glassstack.store.store import Store

SECOND = 1_000_000_000
START = 5_000 * SECOND
TRAIN, BURST = 812, 815
GPU = "/dev/fakegpu0"
VERSION = "550.54.14"
MIB = 1 << 20


def syscall(ts: int, name: str, pid: int = BURST, **options: object) -> ev.Syscall:
    """A call; ``options`` replace what it has by default."""
    values: dict[str, object] = {
        "syscall": "ioctl",
        "device": GPU,
        "fields": {},
        "ret": 0,
        "errno": None,
        "dur_ns": 14_200,
        "fd": 5,
        "raw": 0xC010FA03,
    }
    values.update(options)
    return ev.Syscall(ts, Source.DEVICE, pid, pid, name=name, **values)  # type: ignore[arg-type]


def setting_up(pid: int, at: int) -> list[Event]:
    """The calls of a program until its channel is there."""
    step = 210_000
    calls = [
        syscall(at, "openat", pid, syscall="openat", raw=None, ret=5, fields={"path": GPU}),
        syscall(at + step, "CHECK_VERSION", pid, fields={"mode": "strict", "version": VERSION, "reply": 1}),
        syscall(at + 2 * step, "INFO", pid, fields={"device": 0, "vram_total": 256 * MIB}),
        syscall(at + 3 * step, "ALLOC", pid, fields={"size": 4 * MIB, "handle": 1}),
        syscall(at + 4 * step, "MAP", pid, fields={"what": "BUFFER", "handle": 1, "offset": 0x1000_0000}),
        syscall(
            at + 5 * step,
            "mmap",
            pid,
            syscall="mmap",
            raw=None,
            ret=0x7F12_C000_0000,
            fields={"length": 4 * MIB, "offset": 0x1000_0000},
        ),
        syscall(at + 6 * step, "CHANNEL_CREATE", pid, fields={"ring_size": 65536, "handle": 2, "index": 0}),
    ]
    return list(calls)


def submits(begin: int, count: int, every: int) -> list[Event]:
    """Pairs of SUBMIT and WAIT."""
    out: list[Event] = []
    for n in range(count):
        at = begin + n * every
        out.append(syscall(at, "SUBMIT", fields={"channel": 2, "length": 48, "seqno": n + 1}))
        wait = {"channel": 2, "seqno": n + 1, "signalled": n + 1}
        out.append(syscall(at + 30_000, "WAIT", fields=wait, dur_ns=180_000 + n % 7 * 21_000))
    return out


def channel(pid: int, jobs: int, at: int, **options: int) -> en.Channel:
    """Progress of a program's channel after ``jobs`` jobs."""
    ring = 65536 if pid == TRAIN else 0
    wptr = jobs * 64 if ring else 0
    values = {"doorbells": jobs if ring else 0, "error": 0, "wptr": wptr + (192 if ring else 0), "rptr": wptr}
    values.update(options)
    return en.Channel(
        pid,
        GPU,
        1 if pid == TRAIN else 2,
        0,
        values["wptr"],
        values["rptr"],
        jobs,
        values["doorbells"],
        jobs,
        at,
        values["error"],
        ring,
    )


def completions(pid: int, until: int, count: int, every: int, first: int) -> ev.Completions:
    """The newest ``count`` jobs, one each ``every`` ns, up to ``until``."""
    entries = []
    for n in range(count):
        done = until - (count - 1 - n) * every
        ran = 90_000 + (n * 7919 % 11) * 26_000 + (2_400_000 if n % 97 == 13 else 0)
        waited = 6_000 + (n * 104_729 % 13) * 3_000
        entries.append(en.Completion(first + n, 0, done - ran - waited, done - ran, done, 0, 4096))
    context = 1 if pid == TRAIN else 2
    return ev.Completions(until, Source.POLL, pid, GPU, context, tuple(entries), first + count)


def mappings(pid: int, at: int) -> ev.Mappings:
    """What a program has mapped."""
    base = 0x7F12_C000_0000
    device = [("doorbell", 0, 4096), ("fence", 0x1000, 4096), ("completion", 0x10000, 65536)]
    if pid == TRAIN:
        device.append(("ring", 0x100000, 65536))
    device.append(("buffer", 0x1000_0000, 4 * MIB))
    found, start = [], base
    for what, offset, size in device:
        ch = 0 if what == "ring" else None
        found.append(en.Mapping(start, start + size, "rw-s", offset, GPU, what, GPU, ch, 4711))
        start += size + 0x1000
    for what, name, version in (
        ("umd", "libfakecuda.so.1", VERSION),
        ("runtime", "libfakecudart.so", "12.4"),
    ):
        path = f"/usr/lib/glassstack/{name}"
        found.append(en.Mapping(start, start + 0x18000, "r-xp", 0, path, what, version=version))
        start += 0x20000
    return ev.Mappings(at, Source.POLL, pid, tuple(found))


def ring(at: int, jobs: int) -> ev.Ring:
    """The command ring of the training program."""
    rptr = jobs * 64
    packets = []
    for n in range(-2, 3):
        position = (rptr + n * 64) % 65536
        state = "done" if n < 0 else "pending"
        add: dict[str, Scalar] = {"a": 1, "b": 2, "c": 3, "count": 1024}
        packets.append(en.Packet(position, "VECADD", 48, add, state))
        packets.append(en.Packet(position + 48, "FENCE", 16, {"seqno": jobs + n + 1}, state))
    return ev.Ring(at, Source.POLL, TRAIN, GPU, 1, 0, 65536, rptr + 192, rptr, tuple(packets))


def cgroups(pid: int, at: int) -> ev.Cgroups:
    """A service's cgroup under a slice that caps it."""
    own = f"/ml.slice/job-{pid}.scope"
    cap, none = 512 * MIB, None

    def limits(path: str, memory: int | None) -> tuple[en.Limit, ...]:
        capped = path != "/"
        return (
            en.Limit("memory.max", memory, cap if capped else none, "/ml.slice" if capped else ""),
            en.Limit("memory.high", none, none),
            en.Limit("pids.max", 64 if path == own else none, 64 if path == own else none, own),
            en.Limit("cpu.max", Missing("cpu controller is not delegated"), Missing("not delegated")),
        )

    tree = (
        en.Cgroup("/", 2, ("memory", "pids"), (), {}, relation="ancestor"),
        en.Cgroup(
            "/ml.slice",
            2,
            ("memory", "pids"),
            limits("/ml.slice", cap),
            {"memory.current": 198 * MIB, "pids.current": 9},
            {"high": 0, "max": 3},
            relation="ancestor",
        ),
        en.Cgroup(
            own,
            2,
            ("memory", "pids"),
            limits(own, 1024 * MIB),
            {"memory.current": 91 * MIB, "pids.current": 2, "cpu.usage_usec": 12_345_678},
            pids=(pid,),
            relation="own",
        ),
    )
    return ev.Cgroups(at, Source.POLL, pid, own, tree)


def holders(at: int) -> ev.Holders:
    """Descriptors and mappings of both programs."""
    found = []
    for pid, name in ((TRAIN, "fakegpu-train"), (BURST, "fakegpu-burst")):
        cgroup, where = f"/ml.slice/job-{pid}.scope", "7f12c0000000-7f12c0001000 doorbell"
        found.append(en.Holder(pid, name, "alice", GPU, "fd", "fd 5 rw", cgroup))
        found.append(en.Holder(pid, name, "alice", GPU, "mapping", where, cgroup, "c0ffee", 7))
    return ev.Holders(at, Source.POLL, tuple(found), unreadable=3)


def processes(at: int) -> ev.Processes:
    """A small machine."""
    rows = [(1, 0, "init", "root", ""), (640, 1, "sshd", "root", ""), (700, 640, "bash", "alice", "")]
    rows += [(TRAIN, 700, "fakegpu-train", "alice", GPU), (BURST, 700, "fakegpu-burst", "alice", GPU)]
    found = []
    for pid, ppid, name, user, gpu in rows:
        pids, cpu = ((pid, 7), 12.0) if gpu else ((pid,), 0.0)
        command = f"/usr/bin/{name} --steps 5"
        found.append(en.ProcessInfo(pid, ppid, pids, name, command, user, "S", 2, 8 * MIB, cpu, gpu=gpu))
    return ev.Processes(at, Source.POLL, tuple(found))


def device(at: int) -> ev.Devices:
    """The GPU."""
    gpu = en.Device(
        GPU, 0, "embedded", VERSION, "FakeGPU A1", "GPU-0f", "0000:01:00.0", 256 * MIB, 8 * MIB, contexts=2
    )
    return ev.Devices(at, Source.DEVICE, (gpu,))


def capabilities(at: int) -> ev.Capabilities:
    """Most things work, one does not."""
    return ev.Capabilities(
        at,
        Source.SELF,
        (
            en.Capability("device", True),
            en.Capability("ptrace", True),
            en.Capability("cgroups", True),
            en.Capability("ebpf", False, "bcc is not installed", "apt-get install python3-bpfcc"),
        ),
    )


def begin() -> list[Event]:
    """Both programs start and set up."""
    events: list[Event] = [capabilities(START), device(START)]
    for n, (pid, name) in enumerate(((TRAIN, "fakegpu-train"), (BURST, "fakegpu-burst"))):
        at = START + n * 40_000_000
        command = f"/usr/bin/{name} --rate 1000"
        events.append(ev.Process(at, Source.PTRACE, pid, pid, "start", 700, command))
        events += setting_up(pid, at + 2_000_000)
        events.append(mappings(pid, at + 5_000_000))
        events.append(ev.Output(at + 6_000_000, Source.PTRACE, pid, "stdout", f"{name}: channel is up\n"))
    return events


def minute(seconds: int = 48, rate: int = 1000, calls: int = 40) -> list[Event]:
    """Steady work for that long: doorbells race, calls trickle."""
    events: list[Event] = []
    for second in range(1, seconds):
        at = START + second * SECOND
        jobs = second * rate + (second * 37 % 11) * 9
        if calls:
            events += submits(at, calls // 2, SECOND // max(1, calls))
        wobble = at + 900_000_000
        both = (channel(TRAIN, jobs, wobble), channel(BURST, second * calls // 2, wobble))
        events.append(ev.Channels(wobble, Source.POLL, TRAIN, both[:1]))
        events.append(ev.Channels(wobble, Source.POLL, BURST, both[1:]))
    return events


def look_around(at: int, jobs: int) -> list[Event]:
    """What the samplers report once."""
    return [
        completions(TRAIN, at - 1_000_000, 1200, 1_000_000, jobs - 1200),
        completions(BURST, at - 2_000_000, 20, 25_000_000, 940),
        ring(at, jobs),
        *(cgroups(pid, at) for pid in (TRAIN, BURST)),
        holders(at),
        processes(at),
        *(mappings(pid, at) for pid in (TRAIN, BURST)),
    ]


def nothing() -> list[Event]:
    """Before anything was seen."""
    return []


def healthy() -> list[Event]:
    """Everything works: the quiet steady state."""
    end = START + 48 * SECOND
    return [*begin(), *minute(), *look_around(end, 47_000), device(end + 1)]


def launch(n: int, at: int, **options: object) -> en.Launch:
    """A launch through the ring; ``options`` replace what it has by default."""
    took = 60_000 + n % 5 * 17_000
    values: dict[str, object] = {
        "via": "ring",
        "device": GPU,
        "context": 1,
        "channel": 0,
        "wptr": 3_000_000 + 64 * n,
        "seqno": 47_000 + n,
        "doorbell_ns": at + took,
        "start_ns": at + took + 900,
        "done_ns": at + took + 12_000,
        "by": "completion ring",
    }
    values.update(options)
    return en.Launch(TRAIN, "fcuLaunchKernel", at, at + 2_100 + n % 3 * 900, **values)  # type: ignore[arg-type]


def tallies(at: int, seconds: int) -> ev.Tallies:
    """Functions of the training program, counted for so long."""
    launches, buckets = 2000 * seconds, (0,) * 11
    counted = (
        en.Tally(
            "fcuLaunchKernel", "umd", launches, 0, launches, 0, 83_000, (*buckets, 1900 * seconds, 90, 9)
        ),
        en.Tally(
            "fcudaLaunchKernel", "runtime", launches, 0, launches, 0, 91_000, (*buckets, 9, 1990 * seconds)
        ),
        en.Tally("fcuStreamSynchronize", "umd", 1000 * seconds, 0, 9, 0, 1_310_000, (*buckets, 0, 0, 8, 1)),
    )
    return ev.Tallies(at, Source.EBPF, TRAIN, START, counted, "/opt/glassstack/bin/fakegpu-train", "", 1_880)


def probed() -> list[Event]:
    """Everything works, seen by eBPF: functions counted, launches followed."""
    end = START + 48 * SECOND
    missing = "no fence within 1000 ms"
    found = [launch(n, end - 300_000_000 + n * 4_700_000) for n in range(40)]
    joined = launch(41, end - 90_000_000, doorbell_ns=None, start_ns=end - 90_004_000)
    late = launch(42, end - 80_000_000, start_ns=None, done_ns=None, seqno=None, by="", note=missing)
    counts = [tallies(START + n * SECOND, n) for n in range(1, 49)]
    sample = "the first 10 of each 100 ms"
    return [*healthy(), *counts, ev.Launches(end, Source.EBPF, TRAIN, (*found, joined, late), sample)]


def broken() -> list[Event]:
    """The same, and then a fault poisons the burst program's context."""
    at = START + 48 * SECOND + 200_000_000
    text = f"FGPU: Xid (PCI:0000:01:00): 31, pid={BURST}, name=fakegpu-burst, Ch 00000000, MMU Fault: 0x2000"
    wait = {"channel": 2, "seqno": 941}
    words = "fakegpu-burst: wait: Input/output error\n"
    return [
        *healthy(),
        ev.Log(at, Source.DEVICE, 3, text, 31, BURST, GPU),
        syscall(at + 120_000, "WAIT", fields=wait, ret=-5, errno="EIO", dur_ns=2_100_000),
        ev.Channels(at + 1_000_000, Source.POLL, BURST, (channel(BURST, 940, at, error=31),)),
        ev.Output(at + 3_000_000, Source.PTRACE, BURST, "stderr", words),
        ev.Process(at + 9_000_000, Source.PTRACE, BURST, BURST, "exit", status=1),
        ev.Dropped(at + 10_000_000, Source.DEVICE, "device", 12),
    ]


def store_of(events: list[Event]) -> Store:
    """A store that has seen the events."""
    store = Store()
    store.apply(events)
    return store


def snapshot_of(events: list[Event]) -> Snapshot:
    """The picture after the events."""
    return store_of(events).snapshot()
