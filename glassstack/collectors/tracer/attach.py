"""Takes hold of running processes, every thread of them, or says in one line why that can't be."""

import errno
import os
import time

from glassstack.collectors.tracer import kernel
from glassstack.collectors.tracer.tracees import kin

_PATIENCE_S = 2.0


class AttachError(Exception):
    """A process can't be traced: cause, remedy, exit code (1 = there is none, 4 = not permitted)."""

    def __init__(self, cause: str, remedy: str, code: int) -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy
        self.code = code


def _tasks(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except FileNotFoundError:
        return []


def _tracer_of(tid: int) -> int:
    try:
        with open(f"/proc/{tid}/status", errors="replace") as status:
            return next((int(line[10:]) for line in status if line.startswith("TracerPid:")), 0)
    except OSError:
        return 0


def _yama() -> int:
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as scope:
            return int(scope.read())
    except (OSError, ValueError):
        return 0


def _refused(pid: int, number: int) -> AttachError:
    if number == errno.ESRCH:
        return _unknown(pid)
    tracer = _tracer_of(pid)
    if tracer:
        return AttachError(f"process {pid} is already traced by process {tracer}", "end that tracer first", 4)
    cause = f"no permission to trace process {pid}"
    if _yama() and os.geteuid():
        remedy = "ptrace_scope allows it to root only: use sudo, or sysctl kernel.yama.ptrace_scope=0"
    elif os.geteuid() == 0 and not os.path.exists(f"/proc/{pid}/exe"):
        remedy = "kernel threads can't be traced"
    else:
        remedy = "run as root, or as the user it belongs to"
    return AttachError(cause, remedy, 4)


def _unknown(pid: int) -> AttachError:
    return AttachError(f"no process {pid}", "see `glassstack ps`", 1)


def attach(pid: int, follow: bool) -> tuple[int, list[int]]:
    """Seizes all threads of the process that ``pid`` belongs to; returns its pid and their tids.

    Raises:
        AttachError: there is no such process, or it may not be traced.
    """
    relations = kin(pid)
    if relations is None or not relations.alive:
        raise _unknown(pid)
    group = relations.group
    options = kernel.BASE_OPTIONS | (kernel.FORK_OPTIONS if follow else 0)
    seized: list[int] = []
    seen: set[int] = set()
    deadline = time.monotonic() + _PATIENCE_S
    # A thread that is not seized yet may start another meanwhile; one that is brings its own along.
    while True:
        new = [tid for tid in _tasks(group) if tid not in seen]
        for tid in new:
            seen.add(tid)
            number = kernel.seize(tid, options)
            if number == 0:
                seized.append(tid)
            elif number != errno.ESRCH and _tracer_of(tid) != os.getpid():
                raise _refused(tid, number)
        if not new or time.monotonic() > deadline:
            break
    if not seized:
        raise _unknown(pid)
    return group, seized
