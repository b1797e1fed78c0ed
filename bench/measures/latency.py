"""From a launch to its fence: the module against the embedded device on one machine, the lab VM.

Both run in the same boot, so that the ratio is of the two drivers and not of
an emulated processor and a real one; the embedded device on the host is told
beside them. Percentiles, as an average would hide the waits.
"""

from __future__ import annotations

import shlex
import statistics
import subprocess

from harness import GLASSSTACK, Result, lines_of, program, report, run

LAUNCHES = 2000
WAYS = {"ring": "ring and doorbell", "ioctl": "SUBMIT and WAIT"}
KINDS = ("p50_ns", "p99_ns", "max_ns")
Times = dict[str, float]


def _command(way: str) -> list[str]:
    return [program("fakegpu-bench"), f"fence-{way}", str(LAUNCHES)]


def _in_the_lab(runs: int) -> dict[str, list[Times]]:
    """What one boot gives: by way, the module's and the embedded device's runs in turn."""
    embedded = [program("fakegpu-run"), "--"]
    pairs = [part for way in WAYS for part in (_command(way), [*embedded, *_command(way)])]
    once = " && ".join(shlex.join(command) for command in pairs)
    loop = f"i=0; while [ $i -lt {runs + 1} ]; do {{ {once}; }} || exit 1; i=$((i + 1)); done"
    done = run((*GLASSSTACK, "lab", "--", "sh", "-c", loop), stdin=subprocess.DEVNULL)
    told = lines_of(done.stdout)[len(pairs) :]  # the first round warms up
    return {
        f"{who} {way}": told[2 * number + shift :: len(pairs)]
        for number, way in enumerate(WAYS)
        for shift, who in enumerate(("module", "embedded"))
    }


def _typical(seen: list[Times], kind: str) -> float:
    """µs: the median over the runs, but the greatest maximum."""
    return (max if kind == "max_ns" else statistics.median)(one[kind] / 1000 for one in seen)


def launch_to_fence(runs: int) -> list[Result]:
    """A row for each way and percentile; the ratio is of the pairs of runs."""
    lab = _in_the_lab(runs)
    results = []
    for way, words in WAYS.items():
        host = [report((program("fakegpu-run"), "--", *_command(way))) for _ in range(runs)]
        ours, peers = lab[f"module {way}"], lab[f"embedded {way}"]
        for kind in KINDS:
            name = kind.removesuffix("_ns")
            ratio = statistics.median(a[kind] / b[kind] for a, b in zip(ours, peers, strict=True))
            results.append(
                Result(
                    f"fence-{way}-{name}",
                    f"launch → fence by {words}, {name}: module / embedded device, both in the lab VM",
                    _typical(ours, kind),
                    "µs",
                    _typical(peers, kind),
                    ratio,
                    "table",
                    True,
                    f"embedded device on the host: {_typical(host, kind):.1f} µs",
                )
            )
    return results


MEASURES = {"launch-fence": launch_to_fence}
