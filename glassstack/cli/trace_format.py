"""A traced call as a line in the manner of strace. Pure."""

import os

from glassstack.decoders.syscalls import OPENS
from glassstack.format import fields, units
from glassstack.format.text import plain
from glassstack.model.events import Dropped, Event, Failed, Log, Process, Syscall

_GIVE_FD = OPENS | {"dup", "dup2", "dup3", "fcntl"}
_RED, _DIM, _OFF = "\x1b[31m", "\x1b[2m", "\x1b[0m"
_RAW_LABEL = "ioctl "


def _errno_number(call: Syscall) -> str:
    text = os.strerror(-call.ret) if -call.ret < 200 else "restarts after the signal"
    return f"-1 {call.errno} ({text})"


def _result(call: Syscall) -> str:
    if call.errno is not None:
        return _errno_number(call)
    if call.syscall == "mmap":
        return hex(call.ret)
    if call.syscall in _GIVE_FD and call.device:
        return f"{call.ret}<{plain(call.device)}>"
    return str(call.ret)


def _arguments(call: Syscall) -> str:
    parts = []
    if call.syscall in OPENS:
        pass
    elif call.fd is not None:
        parts.append(f"{call.fd}<{plain(call.device)}>" if call.device else str(call.fd))
    if call.name != call.syscall:
        parts.append(plain(call.name.removeprefix(_RAW_LABEL)))
    text = fields.line(call.fields)
    if text:
        parts.append(text)
    return ", ".join(parts)


def call_line(call: Syscall, color: bool = False) -> str:
    """``ioctl(3</dev/fakegpu0>, ALLOC, size=64KiB flags=0 handle=1) = 0 <13.2µs>``."""
    duration = f"<{units.duration(call.dur_ns).replace(' ', '')}>"
    head, result = f"{call.syscall}({_arguments(call)})", _result(call)
    if not color:
        return f"{head} = {result} {duration}"
    if call.errno is not None:
        result = f"{_RED}{result}{_OFF}"
    return f"{head} = {result} {_DIM}{duration}{_OFF}"


def line(event: Event, prefix: bool, color: bool = False) -> str | None:
    """The line for an event, ``None`` where it has none; ``prefix`` puts the thread before it."""
    if isinstance(event, Syscall):
        text, tid = call_line(event, color), event.tid
    elif isinstance(event, Process) and event.what == "exit" and event.tid == event.pid:
        how = f"killed by {event.signal}" if event.signal else f"exited with {event.status}"
        text, tid = f"+++ {how} +++", event.pid
    elif isinstance(event, Log):
        return f"--- kernel log: {plain(event.text)} ---"
    elif isinstance(event, Dropped):
        return f"--- {event.count} events were lost: {plain(event.where)} ---"
    elif isinstance(event, Failed) and event.collector != "tracer":  # its failure is the command's own
        return f"--- {event.collector}: {plain(event.cause)} ---"
    else:
        return None
    return f"[pid {tid}] {text}" if prefix else text
