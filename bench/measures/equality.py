"""What `glassstack trace` sees against what strace sees: the same calls, in order, with the same returns.

Both watch the same deterministic programs on the embedded device, one run
each. Compared is every thread's sequence of device calls. Addresses differ from
run to run and descriptors between threads, so those returns count as "ok".
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from harness import GLASSSTACK, ROOT, Result, program, run, tool

CALLS = ("openat", "ioctl", "mmap", "munmap", "close", "dup", "dup2", "dup3")
Call = tuple[str, str, str]
"""Syscall, ioctl number as hex or "", return."""
Sequences = Counter[tuple[Call, ...]]

_LINE = re.compile(r"^(?P<tid>\d+) +(?P<name>\w+)\((?P<args>.*)\) += (?P<ret>0x[0-9a-f]+|-?\d+)(?P<more>.*)$")
_UNFINISHED = re.compile(r"^(?P<tid>\d+) +(?P<head>\w+\(.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"^(?P<tid>\d+) +<\.\.\. \w+ resumed>(?P<tail>.*)$")
_DEVICE = re.compile(r"fakegpu(?:\d|ctl|-uvm)")


def equality(runs: int) -> list[Result]:
    """Differences summed over all programs and, twice, over runs."""
    programs = {
        "client": (program("fakegpu-client"),),
        "vectoradd": (program("fakegpu-vectoradd"),),
        "mix": (sys.executable, "-S", str(ROOT / "bench" / "mix.py")),
    }
    differences, calls, notes = 0, 0, []
    for name, command in programs.items():
        for _ in range(min(runs, 2)):
            ours, theirs = seen_by_glassstack(command), seen_by_strace(command)
            differing = (ours - theirs) + (theirs - ours)
            differences += sum(differing.values())
            calls += sum(len(sequence) * count for sequence, count in theirs.items())
            notes += [f"{name}: {_first_difference(ours, theirs)}"] if differing else []
    what = "threads whose device calls differ from strace's"
    note = "; ".join(dict.fromkeys([f"{calls} calls compared", *notes]))
    ok = differences == 0 and calls > 0
    return [Result("trace-equality", what, differences, "threads", 0, limit="0", ok=ok, note=note)]


def seen_by_glassstack(command: tuple[str, ...], *options: str) -> Sequences:
    """Per-thread sequences out of NDJSON."""
    done = run((*GLASSSTACK, "trace", "-f", "--json", *options, "--gpu", "embedded", "--", *command))
    threads: dict[int, list[Call]] = defaultdict(list)
    for line in done.stdout.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("kind") == "syscall" and event["syscall"] in CALLS and event["device"]:
            number = f"{event['raw']:#x}" if event["syscall"] == "ioctl" else ""
            outcome = event["errno"] or _outcome(event["syscall"], str(event["ret"]))
            threads[event["tid"]].append((event["syscall"], number, outcome))
    return Counter(tuple(calls) for calls in threads.values())


def seen_by_strace(command: tuple[str, ...]) -> Sequences:
    """The same out of strace's text, of the calls whose descriptor, path or mapping is the device's."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        strace = (tool("strace"), "-f", "-y", "-X", "raw", "-e", f"trace={','.join(CALLS)}", "-o", str(log))
        run((program("fakegpu-run"), "--", *strace, *command))
        lines = log.read_text("utf-8", "replace").splitlines()
    threads: dict[str, list[Call]] = defaultdict(list)
    mapped: set[str] = set()
    for tid, name, args, ret, more in _calls(lines):
        if name == "munmap":
            if args.split(",")[0] not in mapped:
                continue
        elif not _DEVICE.search(args) and not _DEVICE.search(more):
            continue
        if name == "mmap" and ret.startswith("0x"):
            mapped.add(ret)
        number = args.split(", ")[1] if name == "ioctl" else ""
        failed = re.match(r" (E[A-Z0-9]+)", more)
        outcome = failed[1] if failed else _outcome(name, ret)
        threads[tid].append((name, number, outcome))
    return Counter(tuple(calls) for calls in threads.values())


def _outcome(name: str, ret: str) -> str:
    """A return as it is in every run: addresses and descriptors that threads race for are just "ok"."""
    return "ok" if name in ("mmap", "openat", "dup") else ret


def _calls(lines: list[str]) -> list[tuple[str, str, str, str, str]]:
    """Whole calls; those that strace cut in two are joined."""
    pending: dict[str, str] = {}
    found = []
    for line in lines:
        cut, rest = _UNFINISHED.match(line), _RESUMED.match(line)
        if cut:
            pending[cut["tid"]] = cut["head"]
            continue
        whole = f"{rest['tid']} {pending.pop(rest['tid'], '')}{rest['tail']}" if rest else line
        match = _LINE.match(whole)
        if match:
            found.append((match["tid"], match["name"], match["args"], match["ret"], match["more"]))
    return found


def _first_difference(ours: Sequences, theirs: Sequences) -> str:
    mine, other = next(iter(ours - theirs), ()), next(iter(theirs - ours), ())
    for number, (a, b) in enumerate(zip(mine, other, strict=False)):
        if a != b:
            return f"call {number}: {a} against strace's {b}"
    return f"{len(mine)} calls against strace's {len(other)}"


MEASURES = {"trace-equality": equality}
