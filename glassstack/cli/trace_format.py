"""A traced call as a line in the manner of strace. Pure."""

import os
from functools import lru_cache

from glassstack.decoders.syscalls import OPENS
from glassstack.format import fields, units
from glassstack.format.text import plain
from glassstack.model.entities import Launch
from glassstack.model.events import Dropped, Event, Failed, Launches, Log, Process, Syscall

_GIVE_FD = OPENS | {"dup", "dup2", "dup3", "fcntl"}
_RED, _DIM, _OFF = "\x1b[31m", "\x1b[2m", "\x1b[0m"
_RAW_LABEL = "ioctl "


@lru_cache(maxsize=1024)
def _failure(ret: int, errno: str) -> str:
    text = os.strerror(-ret) if ret > -512 else "starts again after the signal"
    return f"-1 {errno} ({text})"


def _result(call: Syscall) -> str:
    if call.errno is not None:
        return _failure(call.ret, call.errno)
    if call.syscall == "mmap":
        return hex(call.ret)
    if call.syscall in _GIVE_FD and call.device:
        return f"{call.ret}<{plain(call.device)}>"
    return str(call.ret)


@lru_cache(maxsize=4096)
def _head(syscall: str, name: str, fd: int | None, device: str) -> str:
    """What comes before the fields: the same for most calls of a program."""
    parts = []
    if fd is not None and syscall not in OPENS:
        parts.append(f"{fd}<{plain(device)}>" if device else str(fd))
    if name != syscall and syscall not in OPENS:
        parts.append(plain(name.removeprefix(_RAW_LABEL)))
    return f"{syscall}({', '.join(parts)}"


def _duration(ns: int | None) -> str:
    if ns is None:
        return "<?>"
    # By far the most are some microseconds: units.duration is for the rest.
    return f"<{ns / 1000:.1f}µs>" if 1000 <= ns < 1_000_000 else f"<{units.duration(ns).replace(' ', '')}>"


def call_line(call: Syscall, color: bool = False) -> str:
    """``ioctl(3</dev/fakegpu0>, ALLOC, size=64KiB flags=0 handle=1) = 0 <13.2µs>``."""
    head = _head(call.syscall, call.name, call.fd, call.device)
    if call.name.startswith(_RAW_LABEL) and len(call.fields) == 1:
        head += f", {call.fields.get('arg', 0):#x}"
    elif call.fields:
        head += f"{'' if head.endswith('(') else ', '}{fields.line(call.fields)}"
    result, duration = _result(call), _duration(call.dur_ns)
    if not color:
        return f"{head}) = {result} {duration}"
    if call.errno is not None:
        result = f"{_RED}{result}{_OFF}"
    return f"{head}) = {result} {_DIM}{duration}{_OFF}"


def launch_line(launch: Launch) -> str:
    """``fcuLaunchKernel 4.8µs → ch 1 wptr 224 → doorbell +72µs → start +72µs → fence 3 +245µs``."""

    def after(ts: int | None) -> str:
        return "?" if ts is None else "+" + units.duration(ts - launch.called_ns).replace(" ", "")

    parts = [f"{plain(launch.function)} {after(launch.returned_ns)[1:]}"]
    if launch.channel is not None:
        ring = "SUBMIT" if launch.wptr is None else f"wptr {launch.wptr}"
        parts.append(f"ch {launch.channel} {ring}")
    parts.append(f"doorbell {after(launch.doorbell_ns)}")
    joined = launch.start_ns is not None and launch.start_ns < launch.called_ns
    parts.append("job started before" if joined else f"start {after(launch.start_ns)}")
    parts.append(f"fence {'?' if launch.seqno is None else launch.seqno} {after(launch.done_ns)}")
    end = f"Xid {launch.status}" if launch.status else launch.note or launch.by
    return f"{' → '.join(parts)} ({plain(end)})"


def line(event: Event, prefix: bool, color: bool = False) -> str | None:
    """The line for an event, ``None`` where it has none; ``prefix`` puts the thread before it."""
    if isinstance(event, Syscall):
        text, tid = call_line(event, color), event.tid
        text += "".join(f"\n > {plain(function)}" for function in event.stack)
    elif isinstance(event, Process) and event.what == "exit" and event.tid == event.pid:
        how = "ended" if event.status is None else f"exited with {event.status}"
        how = f"killed by {event.signal}" if event.signal else how
        text, tid = f"+++ {how} +++", event.pid
    elif isinstance(event, Launches):
        lines = [f"[pid {one.tid}] " * prefix + launch_line(one) for one in event.launches]
        return "\n".join(lines) or None
    elif isinstance(event, Log):
        return f"--- kernel log: {plain(event.text)} ---"
    elif isinstance(event, Dropped):
        return f"--- {event.count} events were lost: {plain(event.where)} ---"
    elif isinstance(event, Failed) and event.collector not in (
        "tracer",
        "bpf",
    ):  # its failure is the command's own
        return f"--- {event.collector}: {plain(event.cause)} ---"
    else:
        return None
    return f"[pid {tid}] {text}" if prefix else text
