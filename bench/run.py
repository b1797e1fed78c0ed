"""Measures glassstack against its peers: prints a table and writes build/bench.json.

    python bench/run.py [--runs N] [--list] [NAME…]

Every figure is the median over N (at least 5) paired runs, the peer measured
in the same run. Exit code: 0 when every limit holds, 1 when one doesn't, 4
when something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time

from harness import ROOT, MissingError, Result
from measures import Measure, all_measures

HEADER = ("id", "value", "peer", "ratio", "limit", "ok", "what")


def main() -> int:
    """Takes the measures asked for."""
    measures = all_measures()
    parser = argparse.ArgumentParser(description="Measures glassstack against its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="measures to take (default: all)")
    parser.add_argument("--runs", type=int, default=5, help="paired runs (default 5)")
    parser.add_argument("--list", action="store_true", help="name the measures and exit")
    args = parser.parse_args()
    if args.list:
        print("\n".join(measures))
        return 0
    unknown = [name for name in args.names if name not in measures]
    if unknown or args.runs < 1:
        parser.error(f"no such measure: {', '.join(unknown)}" if unknown else "--runs must be at least 1")
    chosen = {name: measures[name] for name in args.names or measures}
    results = [result for name, measure in chosen.items() for result in take(name, measure, args.runs)]
    print(f"\n{table(results)}\n\n{machine()}")
    write(results)
    if any(result.ok is False for result in results):
        return 1
    return 4 if any(result.ok is None for result in results) else 0


def take(name: str, measure: Measure, runs: int) -> list[Result]:
    """One measure; what keeps it from being taken becomes its result."""
    began = time.monotonic()
    print(f"{name} …", end="", flush=True, file=sys.stderr)
    try:
        results = measure(runs)
    except MissingError as error:
        results = [Result(name, "not measured", None, "", note=str(error))]
    print(f" {time.monotonic() - began:.1f} s", file=sys.stderr)
    return results


def number(value: float | None, unit: str = "") -> str:
    """At most four significant digits."""
    if value is None:
        return "-"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{text} {unit}".strip()


def table(results: list[Result]) -> str:
    """Aligned columns, notes below."""
    rows = [HEADER]
    for one in results:
        verdict = {True: "yes", False: "NO", None: "?"}[one.ok]
        ratio = "-" if one.ratio is None else f"{one.ratio:.3g}×"
        value, peer = number(one.value, one.unit), number(one.peer, one.unit)
        rows.append((one.id, value, peer, ratio, one.limit, verdict, one.what))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER) - 1)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]) for row in rows]
    notes = [f"{one.id}: {one.note}" for one in results if one.note]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def machine() -> str:
    """What it was measured on."""
    return f"{os.cpu_count()} CPUs, Linux {platform.release()}, Python {platform.python_version()}"


def write(results: list[Result]) -> None:
    """build/bench.json: results of this run replace those of the same id, others stay."""
    path = ROOT / "build" / "bench.json"
    path.parent.mkdir(exist_ok=True)
    try:
        known = {one["id"]: one for one in json.loads(path.read_text())}
    except (OSError, ValueError):
        known = {}
    known.update({one.id: one.as_json() for one in results})
    path.write_text(json.dumps(list(known.values()), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
