"""The embedded device: how fast it answers, and what a launch costs each way."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from harness import Result, at_most, paired, program, report, run, tool

CALLS = "40000"
LAUNCHES_RING = "200000"
LAUNCHES_IOCTL = "10000"
STEADY = (20_000, 220_000)  # launches: what both runs do besides them cancels out


def _device(*arguments: str) -> dict[str, float]:
    return report((program("fakegpu-run"), "--", program("fakegpu-bench"), *arguments))


def answer(runs: int) -> list[Result]:
    """One ioctl, asked and answered."""
    seen = [_device("ioctl", CALLS) for _ in range(runs + 1)][1:]
    p50 = at_most(
        "answer-p50", "embedded ioctl answered, p50", "µs", [one["p50_ns"] / 1000 for one in seen], 20
    )
    ratio = statistics.median(one["p99_ns"] / one["p50_ns"] for one in seen)
    p99 = statistics.median(one["p99_ns"] / 1000 for one in seen)
    what = "embedded ioctl answered, p99 / p50"
    return [p50, Result("answer-p99", what, p99, "µs", p50.value, ratio, "≤ 5×", ratio <= 5)]


def launches(runs: int) -> list[Result]:
    """Launches a second through ring and doorbell, against the same through SUBMIT."""
    pairs = paired(
        runs,
        lambda: _device("launch-ring", LAUNCHES_RING)["per_second"],
        lambda: _device("launch-ioctl", LAUNCHES_IOCTL)["per_second"],
    )
    value, peer = pairs.medians
    what = "launches by ring and doorbell / by SUBMIT ioctl"
    return [Result("ring-launches", what, value, "/s", peer, pairs.ratio, "≥ 30×", pairs.ratio >= 30)]


def syscalls_per_launch(runs: int) -> list[Result]:
    """Counted by strace -c: more launches must not mean more system calls."""
    few, many = STEADY
    seen = [(_syscalls(many) - _syscalls(few)) / (many - few) for _ in range(min(runs, 2))]
    value = max(seen)
    note = f"strace -c: {few:,} and {many:,} launches; counted, so {len(seen)} runs"
    what = "system calls per ring launch, steady state"
    return [Result("ring-syscalls", what, value, "calls", limit="0", ok=value == 0, note=note)]


def _syscalls(launches: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "strace"
        traced = (
            tool("strace"),
            "-f",
            "-c",
            "-o",
            str(table),
            program("fakegpu-bench"),
            "launch-ring",
            str(launches),
        )
        run((program("fakegpu-run"), "--", *traced))
        total = next(line for line in reversed(table.read_text().splitlines()) if line.endswith("total"))
    return int(total.split()[3])


MEASURES = {"answer": answer, "ring-launches": launches, "ring-syscalls": syscalls_per_launch}
