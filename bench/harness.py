"""What measures are made of: results, paired runs, timed programs.

Owns the arithmetic (medians over pairs) and the way a prerequisite that is
missing is told. Knows no measure.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
GLASSSTACK = (sys.executable, "-m", "glassstack.cli.main")
TIMEOUT = 300.0
# Programs started from here find this checkout, installed or not.
os.environ["PYTHONPATH"] = str(ROOT)


class MissingError(Exception):
    """A measure can't be taken here; the text says why."""


@dataclass(frozen=True)
class Result:
    """One line of the table. ``ratio`` is ours over the peer's; ``ok`` is None where nothing was measured."""

    id: str
    what: str
    value: float | None
    unit: str
    peer: float | None = None
    ratio: float | None = None
    limit: str = ""
    ok: bool | None = None
    note: str = ""

    def as_json(self) -> dict[str, object]:
        """The form of build/bench.json."""
        return asdict(self)


@dataclass(frozen=True)
class Pairs:
    """Ours and the peer's values of the same runs."""

    ours: tuple[float, ...]
    peers: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Median of the ratios of each pair: what both runs of a pair suffered cancels out."""
        return statistics.median(a / b for a, b in zip(self.ours, self.peers, strict=True))

    @property
    def medians(self) -> tuple[float, float]:
        """Ours and the peer's."""
        return statistics.median(self.ours), statistics.median(self.peers)


def paired(runs: int, ours: Callable[[], float], peer: Callable[[], float]) -> Pairs:
    """Measures both in every run, taking turns at going first, after one run that warms up."""
    ours(), peer()
    mine: list[float] = []
    theirs: list[float] = []
    for turn in range(runs):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            (theirs if which else mine).append(peer() if which else ours())
    return Pairs(tuple(mine), tuple(theirs))


def within_ratio(id: str, what: str, unit: str, pairs: Pairs, most: float, note: str = "") -> Result:
    """A result whose ratio to the peer has an upper limit."""
    value, peer = pairs.medians
    return Result(id, what, value, unit, peer, pairs.ratio, f"≤ {most:g}×", pairs.ratio <= most, note)


def at_most(id: str, what: str, unit: str, values: Sequence[float], most: float, note: str = "") -> Result:
    """A result whose median has an upper limit."""
    value = statistics.median(values)
    return Result(id, what, value, unit, limit=f"≤ {most:g} {unit}", ok=value <= most, note=note)


def program(name: str) -> str:
    """Path of a built program. Raises MissingError."""
    path = BIN / name
    if not os.access(path, os.X_OK):
        raise MissingError(f"build/bin/{name} is not built: make -C kmod")
    return str(path)


def tool(name: str) -> str:
    """Path of a program of the system. Raises MissingError."""
    path = shutil.which(name)
    if not path:
        raise MissingError(f"{name} is not installed: apt-get install -y {name}")
    return path


def run(command: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; MissingError with its last words when it fails."""
    defaults: dict[str, object] = {"capture_output": True, "text": True, "timeout": TIMEOUT, "cwd": ROOT}
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(command, **(defaults | options))  # type: ignore[call-overload]
    except subprocess.TimeoutExpired:
        raise MissingError(f"{' '.join(command)}: not done after {TIMEOUT:g} s") from None
    if done.returncode:
        words = (done.stderr or "").strip().splitlines()
        last = words[-1] if words else "no message"
        raise MissingError(f"{' '.join(map(str, command))}: status {done.returncode}: {last}")
    return done


def wall(command: Sequence[str]) -> float:
    """Seconds that a program takes, start to end, its output thrown away."""
    start = time.perf_counter()
    run(command, capture_output=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def lines_of(out: str) -> list[dict[str, float]]:
    """The JSON lines that fakegpu-bench printed, whatever else is there."""
    return [json.loads(line) for line in out.splitlines() if line.startswith('{"bench"')]


def report(command: Sequence[str]) -> dict[str, float]:
    """The JSON line that fakegpu-bench prints."""
    found = lines_of(run(command).stdout)
    if not found:
        raise MissingError(f"{' '.join(command)}: printed no result")
    return found[0]
