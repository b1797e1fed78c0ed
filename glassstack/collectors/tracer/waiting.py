"""Waiting for the next stop: asleep, or looking a few times first where that is cheaper.

Being woken costs more than the whole handling of a stop, so while stops follow
each other at once and a processor is idle anyway, the tracer looks again
instead of sleeping. On a busy machine it always sleeps.
"""

import os
import time
from pathlib import Path

from glassstack.collectors.tracer import abi, kernel

LOOKS = range(60)
"""Looks before going to sleep: some 40 µs, what two wake-ups of an idle processor cost."""
_QUICK_NS = 80_000
_ENOUGH = 8
_PENALTY = 16
_SMOOTH = 0.2


class Waiter:
    """Waits for tracees and children. ``word`` gets the wait status.

    Args:
        word: reference to the status word.
        proc: where loadavg is.
    """

    def __init__(self, word: object, proc: Path = Path("/proc")) -> None:
        self._word = word
        self._loadavg = proc / "loadavg"
        self._runnable = float(os.cpu_count() or 1)
        self.spare = False
        """A processor is idle: looking before sleeping costs nobody anything."""
        self._score = 0

    def measure(self) -> None:
        """Finds out whether a processor is to spare; to be called some fifty times a second."""
        try:
            running = int(self._loadavg.read_text().split()[3].split("/")[0])
        except (OSError, ValueError, IndexError):
            running = os.cpu_count() or 1
        self._runnable += (running - self._runnable) * _SMOOTH
        # Ourselves and the tracee, in turns or both at once; anybody else needs a processor of his own.
        self.spare = self._runnable < len(os.sched_getaffinity(0)) - 0.1

    def wait(self) -> int:
        """Id of the thread that stopped or ended; -1 with errno EINTR or ECHILD. Looks before it sleeps."""
        wait, clock = kernel.wait, time.monotonic_ns
        before = clock()
        if self._score > _ENOUGH:
            for _ in LOOKS:
                tid: int = wait(-1, self._word, abi.WALL_NOHANG)
                if tid:
                    if clock() - before > _QUICK_NS:
                        self._score = 0
                    elif self._score < _PENALTY * 2:
                        self._score += 1
                    return tid
            self._score -= _PENALTY
        tid = wait(-1, self._word, abi.WALL)
        if clock() - before < _QUICK_NS:
            self._score += 1
        else:
            self._score = max(0, self._score - 1)
        return tid
