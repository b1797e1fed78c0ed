"""How long until something is there: --help, and the first picture of the TUI."""

from __future__ import annotations

import sys
import time

from harness import GLASSSTACK, Result, at_most, paired, wall
from terminal import Terminal

HELP_MS = 100.0
PAINT_MS = 1000.0
# The last row of the stack on the home screen: once it is there, all of it is.
PAINTED = "device"


def help_time(runs: int) -> list[Result]:
    """`glassstack --help`; the peer is the interpreter that does nothing."""
    command = (str(GLASSSTACK[0]), *GLASSSTACK[1:], "--help")
    pairs = paired(runs, lambda: 1000 * wall(command), lambda: 1000 * wall((sys.executable, "-c", "pass")))
    result = at_most("help", "glassstack --help", "ms", pairs.ours, HELP_MS)
    value, peer = pairs.medians
    return [
        Result(
            result.id,
            result.what,
            value,
            "ms",
            peer,
            pairs.ratio,
            result.limit,
            result.ok,
            "peer: python -c pass",
        )
    ]


def first_paint(runs: int) -> list[Result]:
    """From start to the home screen drawn, after one start that warms the caches."""
    values = [_paint() for _ in range(runs + 1)][1:]
    return [at_most("first-paint", "home screen drawn, warm cache", "ms", values, PAINT_MS)]


def _paint() -> float:
    start = time.perf_counter()
    with Terminal(GLASSSTACK, 80, 24) as terminal:
        terminal.wait_for(PAINTED.encode(), 20)
        return 1000 * (time.perf_counter() - start)


MEASURES = {"help": help_time, "first-paint": first_paint}
