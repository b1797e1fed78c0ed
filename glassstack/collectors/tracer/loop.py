"""The tracer's loop: wait for a stop, note what it says, let the thread go on at once.

Owns the path that every traced call takes twice, and the tick. Anything rarer
is in stops.py; anything that can wait is done in batches.
"""

import ctypes
import errno
import gc
import signal
import struct
import time
from collections.abc import Callable

from glassstack.collectors.tracer import abi, kernel
from glassstack.collectors.tracer.entry import Handler
from glassstack.collectors.tracer.outbox import BATCH, Outbox
from glassstack.collectors.tracer.stops import Stops
from glassstack.collectors.tracer.tracees import Thread
from glassstack.collectors.tracer.waiting import Waiter

_INFO = ctypes.create_string_buffer(abi.SYSCALL_INFO_SIZE)
_INFO_AT = ctypes.byref(_INFO)
_OP = ctypes.c_ubyte.from_buffer(_INFO)
_entry_of = struct.Struct("=24x7Q").unpack_from
_return_of = struct.Struct("=24xq").unpack_from

TICK_S = 0.02


class Loop:
    """Serves stops until there is nobody left to wait for.

    Args:
        stops: the traced threads.
        outbox: takes what was found.
        handlers: by syscall number, what to do at its entry.
        tick: called about every TICK_S seconds; false ends the loop.
    """

    def __init__(
        self, stops: Stops, outbox: Outbox, handlers: dict[int, Handler], tick: Callable[[], bool]
    ) -> None:
        self._stops = stops
        self._outbox = outbox
        self._handlers = handlers
        self._tick = tick
        self._due: list[int] = []

    def run(self) -> None:
        """Returns when no tracee and no child is left, or ``tick`` says so."""
        signal.signal(signal.SIGALRM, lambda *_: self._due.append(1))
        signal.setitimer(signal.ITIMER_REAL, TICK_S, TICK_S)
        gc.disable()  # nothing on this path makes cycles
        try:
            self._serve()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _serve(self) -> None:
        ptrace, clock, due = kernel.ptrace, time.monotonic_ns, self._due
        threads, handle, enter, leave = self._stops.threads, self._stops.handle, self._enter, self._leave
        word = ctypes.c_int()
        waiter = Waiter(ctypes.byref(word))
        wait = waiter.wait
        while True:
            tid = wait()
            now = clock()
            if tid > 0:
                status = word.value
                thread = threads.get(tid) if status in _CALL_STOPS else None
                if thread is None:
                    handle(tid, status, now)
                elif ptrace(abi.PTRACE_GET_SYSCALL_INFO, tid, abi.SYSCALL_INFO_SIZE, _INFO_AT) > 0:
                    if _OP.value == abi.SYSCALL_INFO_EXIT:
                        leave(thread, now)
                    else:
                        enter(thread)
            elif ctypes.get_errno() == errno.ECHILD:
                return
            if due:
                due.clear()
                waiter.measure()
                if not self._tick():
                    return

    def _enter(self, thread: Thread) -> None:
        nr, a, b, c, d, e, f = _entry_of(_INFO)
        handler = self._handlers.get(nr)
        call = handler(thread, (a, b, c, d, e, f)) if handler else None
        if call is not None:
            thread.call = call
            thread.since = time.monotonic_ns()
            kernel.ptrace(kernel.SYSCALL, thread.tid, 0, 0)
        else:
            kernel.ptrace(kernel.SYSCALL if thread.each_stop else kernel.CONT, thread.tid, 0, 0)

    def _leave(self, thread: Thread, now: int) -> None:
        call, tid = thread.call, thread.tid
        thread.call = None
        if call is None:
            kernel.ptrace(kernel.SYSCALL if thread.each_stop else kernel.CONT, tid, 0, 0)
            return
        (ret,) = _return_of(_INFO)
        _, device, _, args, _, size, _, effect = call
        after = kernel.read_memory(tid, args[2], size) if size else b""
        if effect:
            device = effect(thread, call, ret)
        kernel.ptrace(kernel.SYSCALL if thread.each_stop else kernel.CONT, tid, 0, 0)
        if device or call[0] == "ioctl":
            found = self._outbox.found
            found.append((thread.process.pid, tid, call, device, ret, thread.since, now, after))
            if len(found) >= BATCH:
                self._outbox.flush()


_CALL_STOPS = frozenset((abi.SYSCALL_STOP, abi.SECCOMP_STOP))
