"""What the tests of the tracer share: building a program, running `glassstack trace`, and strace's view.

Owns no fixtures. Imported as ``from tests import tracing``. Everything here runs real programs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support import ROOT

TIMEOUT = 180
GLASSSTACK = [sys.executable, "-m", "glassstack.cli.main"]


class Seen(NamedTuple):
    """One call as both strace and we tell it."""

    syscall: str
    device: str
    request: int | None
    ret: int


def environment() -> dict[str, str]:
    """The environment in which glassstack is found whatever the current directory."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def build(source: str, folder: Path) -> Path:
    """Compiles tests/system/``source`` into ``folder``; skips where no compiler is."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not compiler:
        pytest.skip("no C compiler: apt-get install gcc libc6-dev")
    program = folder / Path(source).stem
    path = ROOT / "tests" / "system" / source
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", program, path], check=True
    )
    return program


def trace(*words: str | Path | int, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs `glassstack trace WORDS…` to its end."""
    command = [*GLASSSTACK, "trace", *map(str, words)]
    return subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=TIMEOUT, check=False, **options
    )


def start(*words: str | Path | int, **options: Any) -> subprocess.Popen[str]:
    """Starts `glassstack trace WORDS…`; the caller ends it."""
    command = [*GLASSSTACK, "trace", *map(str, words)]
    return subprocess.Popen(command, env=environment(), text=True, **options)


def objects(text: str) -> list[dict[str, Any]]:
    """The lines of NDJSON."""
    return [json.loads(line) for line in text.splitlines()]


def by_thread(text: str) -> dict[int, list[Seen]]:
    """The calls of each thread, in order, from our NDJSON."""
    threads: dict[int, list[Seen]] = {}
    for line in objects(text):
        ret = -1 if line["errno"] else line["ret"]
        # Where a mapping lands is another place in every run.
        ret = min(ret, 0) if line["syscall"] == "mmap" else ret
        seen = Seen(line["syscall"], line["device"], line["raw"], ret)
        threads.setdefault(line["tid"], []).append(seen)
    return threads


_LINE = re.compile(r"(?P<tid>\d+) +(?P<call>\w+)\((?P<args>.*)\) += (?P<ret>-?\w+)(?:<(?P<gives>[^>]*)>)?")
_UNFINISHED = re.compile(r"(?P<tid>\d+) +(?P<head>.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(?P<tid>\d+) +<\.\.\. \w+ resumed>(?P<tail>.*)$")
_PATHS = re.compile(r"(?<=<)/dev/[^>]*|(?<=\")/dev/[^\"]*")


def strace_by_thread(program: Sequence[str | Path], folder: Path, devices: str) -> dict[int, list[Seen]]:
    """The same from `strace -f -y`, for calls on a path that matches ``devices``."""
    if not shutil.which("strace"):
        pytest.skip("no strace to compare with: apt-get install strace")
    output = folder / "strace.txt"
    calls = "ioctl,open,openat,mmap,munmap,close,dup,dup2,dup3,fcntl"
    subprocess.run(
        [
            "strace",
            "-f",
            "-y",
            "-X",
            "raw",
            "-e",
            f"trace={calls}",
            "-e",
            "signal=none",
            "-o",
            output,
            *program,
        ],
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=TIMEOUT,
    )
    # The embedded device's files are memfds that bear the node's name.
    text = re.sub(
        r"<//?memfd:(fakegpu[\w-]*)(?: \(deleted\)>|>\(deleted\))", r"</dev/\1>", output.read_text()
    )
    return _parse(text.splitlines(), re.compile(devices))


def _parse(lines: list[str], devices: re.Pattern[str]) -> dict[int, list[Seen]]:
    threads: dict[int, list[Seen]] = {}
    begun: dict[str, str] = {}
    mapped: dict[str, str] = {}
    for line in lines:
        if unfinished := _UNFINISHED.match(line):
            begun[unfinished["tid"]] = unfinished["head"]
            continue
        if resumed := _RESUMED.match(line):
            line = f"{resumed['tid']} {begun.pop(resumed['tid'])}{resumed['tail']}"
        found = _LINE.match(line)
        if not found:
            continue
        paths = [
            path for path in _PATHS.findall(f"{found['args']}<{found['gives']}>") if devices.fullmatch(path)
        ]
        at = found["args"].split(",")[0]
        if found["call"] == "munmap" and at in mapped:
            paths = [mapped[at]]
        if not paths:
            continue
        if found["call"] == "mmap":
            mapped[found["ret"]] = paths[0]
        request = int(found["args"].split(",")[1], 0) if found["call"] == "ioctl" else None
        ret = int(found["ret"], 0)
        seen = Seen(found["call"], paths[0], request, min(ret, 0) if found["call"] == "mmap" else ret)
        threads.setdefault(int(found["tid"]), []).append(seen)
    return threads
