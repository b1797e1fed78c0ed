"""A strace log of a CUDA program read back: seconds from process start to table, and memory that stays."""

from __future__ import annotations

import random
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness import GLASSSTACK, ROOT, MissingError, Result, at_most

LINES, BLOCK = 1_000_000, 10_000
SECONDS, GROWTH = 6.0, 1.1
_FRONTEND = ((0x2A, 0x20), (0x2B, 0x30), (0x2A, 0x20), (0x4E, 0x38), (0x29, 0x10))
_UVM = (0x19, 0x1B, 0x25, 0x21)
_OTHERS = (
    'read(5</proc/driver/nvidia/params>, "ResmanDebugLevel: 4294967295\\n"..., 1024) = 980',
    "mmap(NULL, 2101248, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f5eb38b2000",
    'openat(AT_FDCWD, "/usr/lib/libcuda.so.1", O_RDONLY|O_CLOEXEC) = 5</usr/lib/libcuda.so.550.54.14>',
    "close(5</usr/lib/libcuda.so.550.54.14>) = 0",
    "futex(0x7ffd00001000, FUTEX_WAKE_PRIVATE, 1) = 0",
    "munmap(0x7f5eb38b2000, 2101248) = 0",
)


def _line(chance: random.Random, now: float) -> str:
    """More than half the lines are ioctls of the two drivers, as at the start of a CUDA program."""
    roll = chance.random()
    if roll < 0.44:
        number, size = chance.choice(_FRONTEND)
        call = f"ioctl(8</dev/nvidiactl>, _IOC(_IOC_READ|_IOC_WRITE, 0x46, {number:#x}, {size:#x}), {{}}) = 0"
    elif roll < 0.55:
        call = f"ioctl(9</dev/nvidia-uvm>, _IOC(_IOC_NONE, 0, {chance.choice(_UVM):#x}, 0), {{}}) = 0"
    else:
        call = chance.choice(_OTHERS).replace("{", "{{").replace("}", "}}")
    pointer = f"{0x7FFD00000000 + chance.getrandbits(32):#x}"
    return f"4242 {now:.6f} {call.format(pointer)} <0.{chance.randrange(300):06d}>\n"


def _write(path: Path, lines: int) -> None:
    chance = random.Random(23)
    block = "".join(_line(chance, 1_700_000_000 + index / 20_000) for index in range(BLOCK))
    with path.open("w") as file:
        for _ in range(lines // BLOCK):
            file.write(block)


def _read(path: Path) -> tuple[float, float, int]:
    """Seconds of processor and of wall, and KiB of the largest child so far."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = (*GLASSSTACK, "trace", "--from", str(path), "-c")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise MissingError(done.stderr.strip())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.perf_counter() - start, after.ru_maxrss


def strace(runs: int) -> list[Result]:
    """The log in a temporary folder, read as often as asked."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = Path(folder) / "short", Path(folder) / "long"
        _write(short, LINES // 10)
        _write(long, LINES)
        *_, small = _read(short)
        took = [_read(long) for _ in range(runs)]
    seconds = [one[0] for one in took]
    # One process, one thread: its processor time is the wall's where nobody else wants the processor.
    rate = LINES / statistics.median(seconds)
    wall = statistics.median(one[1] for one in took)
    growth = took[-1][2] / small
    said = f"{rate:,.0f} lines/s; wall {wall:.2f} s"
    note = "both are the largest child of this bench: run it alone"
    return [
        at_most("strace-log", "1 M lines of a strace log, processor time", "s", seconds, SECONDS, said),
        Result(
            "strace-memory", "memory at 1 M lines; peer: at 100 k", took[-1][2] / 1024, "MB", small / 1024,
            growth, f"≤ {GROWTH:g}×", growth <= GROWTH, note,
        ),
    ]  # fmt: skip


MEASURES = {"strace": strace}
