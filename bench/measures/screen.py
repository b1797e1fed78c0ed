"""What the TUI takes: CPU at rest and under load, the time to answer a key, memory in the long run."""

from __future__ import annotations

import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from harness import GLASSSTACK, ROOT, MissingError, Result, at_most, tool
from terminal import Terminal

COLUMNS, LINES = 120, 40
WARM_UP, WINDOW = 2.5, 4.0  # seconds
# Offered calls a second, and the share of a core in per cent that it may take.
RATES = ((0, 2.0), (1_000, 15.0), (100_000, 45.0))
KEY_MS = 150.0
# Letters that no screen of ours shows: each is looked for in what is written after it was typed.
LETTERS = "ЖЦЩЭЮЯЪЫЬФ"
EVENTS = 10_000_000
RSS_MIB = 200.0
FLAT = 1.05


class Watched:
    """The TUI on a made-up feed, in a terminal."""

    def __init__(self, terminal: Terminal, counter: Path) -> None:
        self.terminal = terminal
        self._counter = counter
        self._process = psutil.Process(terminal.process.pid)

    def cpu(self) -> float:
        """Seconds of CPU taken so far by the TUI alone."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def rss(self) -> float:
        """MiB."""
        return float(self._process.memory_info().rss) / (1 << 20)

    def calls(self) -> int:
        """How many have arrived."""
        data = self._counter.read_bytes()
        return int(struct.unpack("<Q", data[:8])[0])


@contextmanager
def watched(rate: int, limit: int = 0) -> Iterator[Watched]:
    """Starts it and waits until it is drawn."""
    with tempfile.TemporaryDirectory() as folder:
        counter = Path(folder) / "calls"
        counter.write_bytes(bytes(8))
        command = (sys.executable, str(ROOT / "bench" / "feed.py"), str(rate), str(counter), str(limit))
        with Terminal(command, COLUMNS, LINES) as terminal:
            terminal.wait_for(b"\x1b[?1049h", 20)
            yield Watched(terminal, counter)


def cpu(runs: int) -> list[Result]:
    """Share of a core at each offered rate, following the calls; key answers at the highest."""
    results, answers = [], []
    for rate, most in RATES:
        shares, taken = [], []
        for _ in range(runs):
            with watched(rate) as tui:
                tui.terminal.settle(WARM_UP)
                tui.terminal.send(b"2")  # the calls, followed
                tui.terminal.settle(1.0)
                share, arrived = _share(tui)
                shares.append(share)
                taken.append(arrived)
                if rate == RATES[-1][0]:
                    answers += _answers(tui.terminal)
        note = f"{statistics.median(taken):,.0f} calls/s arrived" if rate else ""
        what = f"TUI, {rate:,} calls/s offered: share of a core"
        results.append(at_most(f"tui-cpu-{rate}", what, "%", shares, most, note))
    answers.sort()
    p99 = answers[min(len(answers) - 1, len(answers) * 99 // 100)]
    note = f"{len(answers)} keys, p50 {statistics.median(answers):.0f} ms"
    what = f"a key answered at {RATES[-1][0]:,} calls/s, p99"
    return [
        *results,
        Result("tui-key", what, p99, "ms", limit=f"≤ {KEY_MS:g} ms", ok=p99 <= KEY_MS, note=note),
    ]


def _share(tui: Watched) -> tuple[float, float]:
    """Per cent of a core over WINDOW, and calls a second that arrived in it."""
    spent, calls, start = tui.cpu(), tui.calls(), time.monotonic()
    tui.terminal.settle(WINDOW)
    passed = time.monotonic() - start
    return 100 * (tui.cpu() - spent) / passed, (tui.calls() - calls) / passed


def _answers(terminal: Terminal) -> list[float]:
    """Milliseconds from a key to its trace on the screen, for letters typed as text to find."""
    terminal.send(b"n")
    terminal.settle(0.7)
    found = []
    for letter in LETTERS * 2:
        typed = time.perf_counter()
        terminal.send(letter.encode())
        found.append(1000 * (terminal.wait_for(letter.encode()) - typed))
        terminal.send(b"\x7f")
        terminal.settle(0.11)
    return found


def session(runs: int) -> list[Result]:
    """`glassstack run` on a program that sleeps: the TUI with all that looks around once a second."""
    shares, beside = [], []
    for _ in range(runs):
        with Terminal((*GLASSSTACK, "run", "--", tool("sleep"), "600"), COLUMNS, LINES) as terminal:
            terminal.wait_for(b"\x1b[?1049h", 20)
            terminal.settle(WARM_UP + 1)
            tui = psutil.Process(terminal.process.pid)
            others = tui.children(recursive=True)
            before = _seconds([tui]), _seconds(others)
            terminal.settle(WINDOW)
            shares.append(100 * (_seconds([tui]) - before[0]) / WINDOW)
            beside.append(100 * (_seconds(others) - before[1]) / WINDOW)
    note = f"beside it, the tracer and the device: {statistics.median(beside):.2g} %"
    return [at_most("session-idle", "glassstack run -- sleep: share of a core", "%", shares, 2.0, note)]


def _seconds(processes: list[psutil.Process]) -> float:
    return sum(float(sum(one.cpu_times()[:2])) for one in processes if one.is_running())


def memory(runs: int) -> list[Result]:
    """RSS after EVENTS calls, as fast as they are taken; flat from the middle on."""
    del runs  # one run says it: it takes minutes and does not vary
    with watched(1_000_000, EVENTS) as tui:
        middle, deadline = 0.0, time.monotonic() + 900
        while (calls := tui.calls()) < EVENTS:
            tui.terminal.settle(0.5)
            if not middle and calls >= EVENTS // 2:
                middle = tui.rss()
            if time.monotonic() > deadline:
                raise MissingError(f"only {calls:,} of {EVENTS:,} calls arrived in 900 s")
        end = tui.rss()
    what = f"RSS of the TUI after {EVENTS:,} calls; peer: after half of them"
    ok = end <= RSS_MIB and end <= FLAT * middle
    return [
        Result("tui-rss", what, end, "MiB", middle, end / middle, f"≤ {RSS_MIB:g} MiB, flat", ok, "one run")
    ]


MEASURES = {"tui-cpu": cpu, "session-idle": session, "tui-rss": memory}
