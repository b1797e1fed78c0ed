"""Small makers of events for tests; every argument that does not matter has a default."""

from typing import Any

from glassstack.model import entities as en
from glassstack.model import events as ev
from glassstack.model.values import Source

SECOND = 1_000_000_000


def call(ts: int, name: str = "ALLOC", errno: str | None = None, **more: Any) -> ev.Syscall:
    values: dict[str, Any] = {
        "ts": ts,
        "source": Source.DEVICE,
        "pid": 7,
        "tid": 7,
        "syscall": "ioctl",
        "device": "/dev/fakegpu0",
        "name": name,
        "fields": {"size": 4096},
        "ret": -22 if errno else 0,
        "errno": errno,
        "dur_ns": 100,
    }
    return ev.Syscall(**{**values, **more})


def channel(doorbells: int, jobs: int, pid: int = 7, context: int = 1, **more: Any) -> en.Channel:
    values: dict[str, Any] = {
        "device": "/dev/fakegpu0",
        "index": 0,
        "wptr": 0,
        "rptr": 0,
        "seqno": jobs,
    }
    return en.Channel(pid=pid, context=context, doorbells=doorbells, jobs=jobs, **{**values, **more})


def channels(ts: int, *seen: en.Channel, source: Source = Source.POLL) -> ev.Channels:
    return ev.Channels(ts, source, pid=seen[0].pid, channels=seen)


def process(ts: int, what: str, pid: int = 7, tid: int | None = None, **more: Any) -> ev.Process:
    return ev.Process(ts, Source.PTRACE, pid=pid, tid=pid if tid is None else tid, what=what, **more)
