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
        threads, handle, due = self._stops.threads, self._stops.handle, self._due
        enter, leave = _enter(self._handlers), _leave(self._outbox)
        ptrace, sleep, clock, info, info_at = kernel.ptrace, kernel.wait, time.monotonic_ns, _INFO, _INFO_AT
        word = ctypes.c_int()
        word_at = ctypes.byref(word)
        waiter = Waiter(word_at)
        while True:
            tid = waiter.wait() if waiter.spare else sleep(-1, word_at, abi.WALL)
            now = clock()
            if tid > 0:
                status = word.value
                thread = threads.get(tid) if status in _CALL_STOPS else None
                if thread is None:
                    handle(tid, status, now)
                elif ptrace(abi.PTRACE_GET_SYSCALL_INFO, tid, abi.SYSCALL_INFO_SIZE, info_at) > 0:
                    if info[0] == _EXIT:
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


# The two halves of a call, as closures: a name bound here is found twice as fast as a global one.


def _enter(handlers: dict[int, Handler]) -> Callable[[Thread], None]:
    ptrace, clock, entry_of, info, step, go = (
        kernel.ptrace, time.monotonic_ns, _entry_of, _INFO, kernel.SYSCALL, kernel.CONT
    )  # fmt: skip
    handler_of = handlers.get

    def enter(thread: Thread) -> None:
        nr, a, b, c, d, e, f = entry_of(info)
        handler = handler_of(nr)
        if handler is not None:
            call = handler(thread, (a, b, c, d, e, f))
            if call is not None:
                thread.call = call
                thread.since = clock()
                ptrace(step, thread.tid, 0, 0)
                return
        ptrace(step if thread.each_stop else go, thread.tid, 0, 0)

    return enter


def _leave(outbox: Outbox) -> Callable[[Thread, int], None]:
    ptrace, return_of, info, step, go = kernel.ptrace, _return_of, _INFO, kernel.SYSCALL, kernel.CONT
    found, flush, read_memory = outbox.found, outbox.flush, kernel.read_memory

    def leave(thread: Thread, now: int) -> None:
        call, tid = thread.call, thread.tid
        if call is None:
            ptrace(step if thread.each_stop else go, tid, 0, 0)
            return
        thread.call = None
        (ret,) = return_of(info)
        syscall, device, fd, args, before, size, payload, effect = call
        after = read_memory(tid, args[2], size) if size else b""
        if thread.again is not None:
            # Behind the argument, whole or not at all: the decoder tells them apart by the size.
            after = after + read_memory(tid, *thread.again) if len(after) == size else after
            thread.again = None
        if effect is not None:
            device = effect(thread, call, ret)
        ptrace(step if thread.each_stop else go, tid, 0, 0)
        if device or syscall == "ioctl":
            found.append(
                (
                    thread.process.pid,
                    tid,
                    syscall,
                    device,
                    fd,
                    args,
                    before,
                    payload,
                    ret,
                    thread.since,
                    now,
                    after,
                )
            )
            if len(found) >= BATCH:
                flush()

    return leave


_EXIT = bytes((abi.SYSCALL_INFO_EXIT,))
_CALL_STOPS = frozenset((abi.SYSCALL_STOP, abi.SECCOMP_STOP))
